//! Functions of elements for lists of tensors, by one launch for all of them. Lists that do not go together are made of single operators.

use std::ffi::CStr;

use super::table;
use crate::call::{Call, Results, Returned, Scalar, written};
use crate::failure::{Failure, Outcome};
use crate::lists::{Lists, Slot};
use crate::tensor::{Tensor, View};

table! {
    c"aten::_foreach_add.Scalar" => |c| number(c, c"add", Gives::New),
    c"aten::_foreach_add_.Scalar" => |c| number(c, c"add", Gives::InPlace),
    c"aten::_foreach_add.ScalarList" => |c| number(c, c"add", Gives::New),
    c"aten::_foreach_add_.ScalarList" => |c| number(c, c"add", Gives::InPlace),
    c"aten::_foreach_add.List" => |c| sum(c, 1.0, Gives::New),
    c"aten::_foreach_add_.List" => |c| sum(c, 1.0, Gives::InPlace),
    c"aten::_foreach_sub.Scalar" => |c| number(c, c"subtract", Gives::New),
    c"aten::_foreach_sub_.Scalar" => |c| number(c, c"subtract", Gives::InPlace),
    c"aten::_foreach_sub.List" => |c| sum(c, -1.0, Gives::New),
    c"aten::_foreach_sub_.List" => |c| sum(c, -1.0, Gives::InPlace),
    c"aten::_foreach_mul.Scalar" => |c| number(c, c"multiply", Gives::New),
    c"aten::_foreach_mul_.Scalar" => |c| number(c, c"multiply", Gives::InPlace),
    c"aten::_foreach_mul.ScalarList" => |c| number(c, c"multiply", Gives::New),
    c"aten::_foreach_mul_.ScalarList" => |c| number(c, c"multiply", Gives::InPlace),
    c"aten::_foreach_mul.List" => |c| pair(c, c"multiply", Gives::New),
    c"aten::_foreach_mul_.List" => |c| pair(c, c"multiply", Gives::InPlace),
    c"aten::_foreach_div.Scalar" => |c| number(c, c"divide", Gives::New),
    c"aten::_foreach_div_.Scalar" => |c| number(c, c"divide", Gives::InPlace),
    c"aten::_foreach_div.ScalarList" => |c| number(c, c"divide", Gives::New),
    c"aten::_foreach_div_.ScalarList" => |c| number(c, c"divide", Gives::InPlace),
    c"aten::_foreach_div.List" => |c| pair(c, c"divide", Gives::New),
    c"aten::_foreach_div_.List" => |c| pair(c, c"divide", Gives::InPlace),
    c"aten::_foreach_maximum.List" => |c| pair(c, c"maximum", Gives::New),
    c"aten::_foreach_maximum_.List" => |c| pair(c, c"maximum", Gives::InPlace),
    c"aten::_foreach_minimum.List" => |c| pair(c, c"minimum", Gives::New),
    c"aten::_foreach_minimum_.List" => |c| pair(c, c"minimum", Gives::InPlace),
    c"aten::_foreach_clamp_max_.Scalar" => |c| number(c, c"minimum", Gives::InPlace),
    c"aten::_foreach_clamp_min_.Scalar" => |c| number(c, c"maximum", Gives::InPlace),
    c"aten::_foreach_lerp.Scalar" => |c| weighted(c, c"lerp", 2, Gives::New),
    c"aten::_foreach_lerp_.Scalar" => |c| weighted(c, c"lerp", 2, Gives::InPlace),
    c"aten::_foreach_addcmul.Scalar" => |c| weighted(c, c"addcmul", 3, Gives::New),
    c"aten::_foreach_addcmul_.Scalar" => |c| weighted(c, c"addcmul", 3, Gives::InPlace),
    c"aten::_foreach_addcmul.ScalarList" => |c| weighted(c, c"addcmul", 3, Gives::New),
    c"aten::_foreach_addcmul_.ScalarList" => |c| weighted(c, c"addcmul", 3, Gives::InPlace),
    c"aten::_foreach_addcdiv.Scalar" => |c| weighted(c, c"addcdiv", 3, Gives::New),
    c"aten::_foreach_addcdiv_.Scalar" => |c| weighted(c, c"addcdiv", 3, Gives::InPlace),
    c"aten::_foreach_addcdiv.ScalarList" => |c| weighted(c, c"addcdiv", 3, Gives::New),
    c"aten::_foreach_addcdiv_.ScalarList" => |c| weighted(c, c"addcdiv", 3, Gives::InPlace),
    c"aten::_foreach_sqrt" => |c| single(c, c"sqrt", Gives::New),
    c"aten::_foreach_sqrt_" => |c| single(c, c"sqrt", Gives::InPlace),
    c"aten::_foreach_neg" => |c| single(c, c"negative", Gives::New),
    c"aten::_foreach_neg_" => |c| single(c, c"negative", Gives::InPlace),
    c"aten::_foreach_abs" => |c| single(c, c"absolute", Gives::New),
    c"aten::_foreach_abs_" => |c| single(c, c"absolute", Gives::InPlace),
    c"aten::_foreach_reciprocal" => |c| single(c, c"reciprocal", Gives::New),
    c"aten::_foreach_reciprocal_" => |c| single(c, c"reciprocal", Gives::InPlace),
    c"aten::_foreach_exp" => |c| single(c, c"exp", Gives::New),
    c"aten::_foreach_exp_" => |c| single(c, c"exp", Gives::InPlace),
    c"aten::_foreach_sign" => |c| single(c, c"sign", Gives::New),
    c"aten::_foreach_sign_" => |c| single(c, c"sign", Gives::InPlace),
    c"aten::_foreach_zero_" => |c| filled(c, 0.0),
}

/// Where results go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    New,
    /// To the first list.
    InPlace,
}

/// One value for all items, or one for each.
enum Values {
    Same(f64),
    Own(Vec<f64>),
}

impl Values {
    /// Of the number or the list of numbers at a place.
    fn of(c: &Call, place: usize, count: usize) -> Outcome<Self> {
        let Scalar::Reals(values) = c.scalar(place) else {
            return c.real(place).map(Self::Same);
        };
        if values.len() != count {
            return Err(Failure::refused(format!(
                "Tensor list must have same number of elements as scalar list, got {count} and {}",
                values.len()
            )));
        }
        match values.split_first() {
            Some((first, others)) if others.iter().all(|one| one == first) => {
                Ok(Self::Same(*first))
            }
            _ => Ok(Self::Own(values.clone())),
        }
    }

    fn get(&self, item: usize) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Own(values) => values[item],
        }
    }
}

/// What one operation takes of each item.
struct Work<'a> {
    operation: &'static CStr,
    /// Lists of tensors that are inputs.
    inputs: usize,
    values: Values,
    /// The numbers of an item for its value, in the order of the operation's inputs.
    numbers: &'a dyn Fn(f64, &mut Vec<f64>),
}

fn run(c: &Call, work: &Work<'_>, gives: Gives) -> Outcome<Results> {
    let count = c.list_length(0)?;
    for list in 1..work.inputs {
        let length = c.list_length(list)?;
        if length != count {
            return Err(Failure::refused(format!(
                "Tensor lists must have the same number of tensors, got {count} and {length}"
            )));
        }
    }
    if count == 0 {
        return written();
    }
    let place = c.place()?;
    let mut lists = Lists::of(work.operation, place, count);
    let mut made = Vec::new();
    let mut own = Vec::new();
    for item in 0..count {
        let x = c.tensor(item)?;
        let out: &View = match gives {
            Gives::InPlace => x,
            Gives::New => {
                made.push(Tensor::empty_strided(&x.shape, &x.strides, x.dtype, place)?);
                &made[item]
            }
        };
        let mut slots = vec![Slot::Each(out)];
        for list in 0..work.inputs {
            let input = c.tensor(list * count + item)?;
            if input.dtype != x.dtype {
                return Err(Failure::no_kernel("lists of several dtypes have no kernel"));
            }
            slots.push(Slot::Each(input));
        }
        own.clear();
        if matches!(work.values, Values::Own(_)) {
            (work.numbers)(work.values.get(item), &mut own);
        }
        lists.push(&slots, &own)?;
    }
    let mut shared = Vec::new();
    if let Values::Same(value) = work.values {
        (work.numbers)(value, &mut shared);
        lists.run(Some(&shared))?;
    } else {
        lists.run(None)?;
    }
    Ok(made.into_iter().map(Returned::Tensor).collect())
}

/// `operation(x)`.
fn single(c: &Call, operation: &'static CStr, gives: Gives) -> Outcome<Results> {
    let work = Work {
        operation,
        inputs: 1,
        values: Values::Same(0.0),
        numbers: &|_, numbers| numbers.push(0.0),
    };
    run(c, &work, gives)
}

/// `operation(x, y)` of two lists.
fn pair(c: &Call, operation: &'static CStr, gives: Gives) -> Outcome<Results> {
    let work = Work {
        operation,
        inputs: 2,
        values: Values::Same(0.0),
        numbers: &|_, numbers| numbers.extend([0.0, 0.0]),
    };
    run(c, &work, gives)
}

/// `operation(x, number)`, with one number or one for each item.
fn number(c: &Call, operation: &'static CStr, gives: Gives) -> Outcome<Results> {
    let work = Work {
        operation,
        inputs: 1,
        values: Values::of(c, 1, c.list_length(0)?)?,
        numbers: &|value, numbers| numbers.extend([0.0, value]),
    };
    run(c, &work, gives)
}

/// x + alpha y, or x - alpha y.
fn sum(c: &Call, sign: f64, gives: Gives) -> Outcome<Results> {
    let work = Work {
        operation: c"linear_combination",
        inputs: 2,
        values: Values::Same(sign * c.real_or(2, 1.0)?),
        numbers: &|alpha, numbers| numbers.extend([0.0, 0.0, 1.0, alpha]),
    };
    run(c, &work, gives)
}

/// An operation with a number behind its lists.
fn weighted(c: &Call, operation: &'static CStr, inputs: usize, gives: Gives) -> Outcome<Results> {
    let work = Work {
        operation,
        inputs,
        values: Values::of(c, inputs, c.list_length(0)?)?,
        numbers: &|value, numbers| numbers.push(value),
    };
    run(c, &work, gives)
}

/// One number everywhere.
fn filled(c: &Call, value: f64) -> Outcome<Results> {
    let count = c.list_length(0)?;
    if count == 0 {
        return written();
    }
    let mut lists = Lists::of(c"identity", c.place()?, count);
    for x in c.list(0, count)? {
        lists.push(&[Slot::Each(x)], &[])?;
    }
    lists.run(Some(&[value]))?;
    written()
}
