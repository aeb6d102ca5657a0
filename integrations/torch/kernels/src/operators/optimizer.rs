//! Steps of optimizers, and the scaling of gradients in mixed precision.

use super::reduction::{axes_of, reduced, steps_in, value_of};
use super::table;
use crate::call::{Call, Results, written};
use crate::compute::{Number, Steps};
use crate::dtype::Dtype;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::lists::{Lists as Step, Slot};
use crate::tensor::{Tensor, View};

table! {
    c"aten::_fused_adam_" => |c| adam(c, false),
    c"aten::_fused_adamw_" => |c| adam(c, true),
    c"aten::_fused_adam_.tensor_lr" => |c| adam(c, false),
    c"aten::_fused_adamw_.tensor_lr" => |c| adam(c, true),
    c"aten::_fused_sgd_" => sgd,
    c"aten::_fused_sgd_.tensor_lr" => sgd,
    c"aten::_amp_foreach_non_finite_check_and_unscale_" => unscale,
    c"aten::_amp_update_scale_" => update_scale,
}

/// Lists of tensors that stand behind each other, and the single tensors behind them.
struct Lists {
    starts: Vec<usize>,
    counts: Vec<usize>,
    end: usize,
}

impl Lists {
    /// The first `count` scalars are the lengths of lists.
    fn of(c: &Call, count: usize) -> Outcome<Self> {
        let (mut starts, mut counts, mut end) = (Vec::new(), Vec::new(), 0);
        for place in 0..count {
            starts.push(end);
            counts.push(c.list_length(place)?);
            end += counts[place];
        }
        Ok(Self {
            starts,
            counts,
            end,
        })
    }

    fn get<'c>(&self, c: &'c Call, list: usize, place: usize) -> Outcome<Option<&'c Tensor>> {
        if place >= self.counts[list] {
            return Ok(None);
        }
        c.tensor(self.starts[list] + place).map(Some)
    }

    fn need<'c>(&self, c: &'c Call, list: usize, place: usize) -> Outcome<&'c Tensor> {
        self.get(c, list, place)?.ok_or_else(|| {
            Failure::refused(format!("{}: the lists of tensors differ in length", c.name))
        })
    }
}

/// What all tensors of a step share behind the lists: the learning rate where it is a tensor, the scale of gradients, whether one was not finite.
struct Shared<'c> {
    rate: f64,
    gradient_scale: Option<&'c Tensor>,
    /// Not 0 where a gradient was not finite, so that nothing is done.
    found: Option<&'c Tensor>,
    /// The scalar behind the learning rate, if that is one.
    next: usize,
}

fn shared<'c>(c: &'c Call, lists: &Lists, scalar: usize, rate_first: bool) -> Outcome<Shared<'c>> {
    let is_tensor = c.name.ends_with("tensor_lr");
    let mut tensor = lists.end;
    let rate = if is_tensor {
        tensor += 1;
        number_in(c.tensor(tensor - 1)?)?
    } else if rate_first {
        c.real(scalar)?
    } else {
        0.0
    };
    Ok(Shared {
        rate,
        gradient_scale: c.optional(tensor),
        found: c.optional(tensor + 1),
        next: scalar + usize::from(!is_tensor && rate_first),
    })
}

impl Shared<'_> {
    fn is_skipped(&self) -> Outcome<bool> {
        self.found
            .map_or(Ok(false), |found| Ok(number_in(found)? != 0.0))
    }

    fn scale_and_skip(&self) -> [Slot<'_>; 2] {
        [self.gradient_scale, self.found].map(|one| Slot::one_or_none(one.map(|one| &**one)))
    }
}

/// Whether one launch did a step of all tensors; not where they do not go together.
fn is_done(step: Outcome) -> Outcome<bool> {
    match step {
        Ok(()) => Ok(true),
        Err(failure) if failure.kind == FailureKind::NoKernel => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// The value of a tensor that has one, wherever it is.
fn number_in(x: &View) -> Outcome<f64> {
    if x.place == crate::tensor::Place::Cpu {
        let steps = crate::compute::Input::View(x);
        return crate::compute::real_of(steps);
    }
    Ok(value_of(x)?.real())
}

/// Gradients without the scale of the loss, negated where the loss is to grow. They stay so, as torch's own kernels leave them.
fn prepared(s: Steps, gradient: &View, scale: Option<&Tensor>, maximizes: bool) -> Outcome<Tensor> {
    if let Some(scale) = scale {
        s.into(c"divide", &[gradient.into(), scale.into()], gradient)?;
    }
    if maximizes {
        s.made(c"negative", &[gradient.into()])
    } else {
        s.made(c"identity", &[gradient.into()])
    }
}

/// Kingma & Ba 2015; with `decouples` Loshchilov & Hutter 2019.
fn adam(c: &Call, decouples: bool) -> Outcome<Results> {
    let lists = Lists::of(c, 6)?;
    let shared = shared(c, &lists, 6, true)?;
    let at = shared.next;
    let settings = Adam {
        rate: shared.rate,
        betas: (c.real(at)?, c.real(at + 1)?),
        decay: c.real(at + 2)?,
        epsilon: c.real(at + 3)?,
        decouples,
    };
    let (is_amsgrad, maximizes) = (c.flag(at + 4)?, c.flag(at + 5)?);
    if is_done(settings.at_once(c, &lists, &shared, (is_amsgrad, maximizes)))?
        || shared.is_skipped()?
    {
        return written();
    }
    for place in 0..lists.counts[0] {
        let x = lists.need(c, 0, place)?;
        let s = steps_in(x.dtype.wide(), x.place);
        let gradient = lists.need(c, 1, place)?;
        let gradient = prepared(s, gradient, shared.gradient_scale, maximizes)?;
        let largest = if is_amsgrad {
            lists.get(c, 4, place)?
        } else {
            None
        };
        settings.step(&Moments {
            s,
            x,
            gradient: &gradient,
            mean: lists.need(c, 2, place)?,
            square: lists.need(c, 3, place)?,
            largest,
            step: lists.need(c, 5, place)?,
        })?;
    }
    written()
}

struct Adam {
    rate: f64,
    betas: (f64, f64),
    decay: f64,
    epsilon: f64,
    decouples: bool,
}

/// What a step works on.
struct Moments<'a> {
    s: Steps,
    x: &'a View,
    gradient: &'a View,
    mean: &'a View,
    square: &'a View,
    largest: Option<&'a Tensor>,
    step: &'a View,
}

impl Adam {
    /// The step of all tensors by one launch.
    fn at_once(
        &self,
        c: &Call,
        lists: &Lists,
        shared: &Shared<'_>,
        (is_amsgrad, maximizes): (bool, bool),
    ) -> Outcome {
        let count = lists.counts[0];
        if count == 0 {
            return Ok(());
        }
        let mut step = Step::of(c"adam", lists.need(c, 0, 0)?.place, count);
        let [scale, skip] = shared.scale_and_skip();
        for place in 0..count {
            let each = |list| -> Outcome<Slot<'_>> { Ok(Slot::Each(lists.need(c, list, place)?)) };
            let largest = if is_amsgrad { each(4)? } else { Slot::None };
            let number = Slot::One(lists.need(c, 5, place)?);
            let slots = [
                each(0)?,
                each(1)?,
                each(2)?,
                each(3)?,
                largest,
                number,
                scale,
                skip,
            ];
            step.push(&slots, &[])?;
        }
        let flag = |is_set: bool| f64::from(u8::from(is_set));
        step.run(Some(&[
            self.rate,
            self.betas.0,
            self.betas.1,
            self.decay,
            self.epsilon,
            flag(self.decouples),
            flag(maximizes),
        ]))
    }

    fn step(&self, of: &Moments<'_>) -> Outcome {
        let s = of.s;
        let (first, second) = self.betas;
        let decayed;
        let mut gradient = of.gradient;
        if self.decay != 0.0 && self.decouples {
            let factor = 1.0 - self.rate * self.decay;
            s.into(c"multiply", &[of.x.into(), factor.into()], of.x)?;
        } else if self.decay != 0.0 {
            decayed = s.sum((1.0, gradient), (self.decay, of.x))?;
            gradient = &decayed;
        }
        s.sum_into((first, of.mean), (1.0 - first, gradient), of.mean)?;
        let square = s.made(c"square", &[gradient.into()])?;
        s.sum_into((second, of.square), (1.0 - second, &square), of.square)?;
        let mut variance = of.square;
        if let Some(largest) = of.largest {
            s.into(c"maximum", &[largest.into(), variance.into()], largest)?;
            variance = largest;
        }
        // Numbers of steps differ between tensors and lie on the device, as do the corrections for them.
        let correction = |beta: f64| -> Outcome<Tensor> {
            let wide = steps_in(Dtype::F64, of.x.place);
            let power = wide.made(c"power", &[beta.into(), of.step.into()])?;
            wide.made(c"subtract", &[1.0.into(), (&power).into()])
        };
        let (of_mean, of_square) = (correction(first)?, correction(second)?);
        let wide = steps_in(Dtype::F64, of.x.place);
        let size = wide.made(c"divide", &[self.rate.into(), (&of_mean).into()])?;
        let level = wide.made(c"sqrt", &[(&of_square).into()])?;
        let root = s.made(c"sqrt", &[variance.into()])?;
        let root = s.made(c"divide", &[(&root).into(), (&level).into()])?;
        let root = s.made(c"add", &[(&root).into(), self.epsilon.into()])?;
        let way = s.made(c"divide", &[of.mean.into(), (&root).into()])?;
        let way = s.made(c"multiply", &[(&way).into(), (&size).into()])?;
        s.into(c"subtract", &[of.x.into(), (&way).into()], of.x)
    }
}

fn sgd(c: &Call) -> Outcome<Results> {
    let lists = Lists::of(c, 3)?;
    let is_tensor = c.name.ends_with("tensor_lr");
    let shared = shared(c, &lists, 3, false)?;
    let (decay, momentum) = (c.real(3)?, c.real(4)?);
    let (rate, at) = if is_tensor {
        (shared.rate, 5)
    } else {
        (c.real(5)?, 6)
    };
    let damping = c.real(at)?;
    let (is_nesterov, maximizes, is_first) = (c.flag(at + 1)?, c.flag(at + 2)?, c.flag(at + 3)?);
    let flags = [is_nesterov, maximizes, is_first].map(|flag| f64::from(u8::from(flag)));
    let numbers = [rate, decay, momentum, damping, flags[0], flags[1], flags[2]];
    if is_done(sgd_at_once(c, &lists, &shared, &numbers))? || shared.is_skipped()? {
        return written();
    }
    for place in 0..lists.counts[0] {
        let x = lists.need(c, 0, place)?;
        let s = steps_in(x.dtype.wide(), x.place);
        let gradient = lists.need(c, 1, place)?;
        let mut gradient = prepared(s, gradient, shared.gradient_scale, maximizes)?;
        if decay != 0.0 {
            gradient = s.sum((1.0, &gradient), (decay, x))?;
        }
        if momentum != 0.0 {
            let kept = lists.need(c, 2, place)?;
            if is_first {
                s.into(c"identity", &[(&gradient).into()], kept)?;
            } else {
                s.sum_into((momentum, kept), (1.0 - damping, &gradient), kept)?;
            }
            gradient = if is_nesterov {
                s.sum((1.0, &gradient), (momentum, kept))?
            } else {
                s.made(c"identity", &[kept.into()])?
            };
        }
        s.sum_into((1.0, x), (-rate, &gradient), x)?;
    }
    written()
}

/// The step of all tensors by one launch; the third number is the momentum.
fn sgd_at_once(c: &Call, lists: &Lists, shared: &Shared<'_>, numbers: &[f64; 7]) -> Outcome {
    let count = lists.counts[0];
    if count == 0 {
        return Ok(());
    }
    let mut step = Step::of(c"sgd", lists.need(c, 0, 0)?.place, count);
    let [scale, skip] = shared.scale_and_skip();
    for place in 0..count {
        let velocity = if numbers[2] == 0.0 {
            Slot::None
        } else {
            Slot::Each(lists.need(c, 2, place)?)
        };
        let [x, gradient] = [0, 1].map(|list| lists.need(c, list, place));
        let slots = [Slot::Each(x?), Slot::Each(gradient?), velocity, scale, skip];
        step.push(&slots, &[])?;
    }
    step.run(Some(numbers))
}

/// The work of [`unscale`] by one launch.
fn unscale_at_once(gradients: &[&Tensor], found: &View, inverse: &View) -> Outcome {
    let Some(first) = gradients.first() else {
        return Ok(());
    };
    let mut step = Step::of(c"unscale", first.place, gradients.len());
    for gradient in gradients {
        let slots = [Slot::Each(gradient), Slot::One(inverse), Slot::One(found)];
        step.push(&slots, &[])?;
    }
    step.run(Some(&[]))
}

/// Gradients times the inverse of the scale; notes whether one of them was not finite.
fn unscale(c: &Call) -> Outcome<Results> {
    let count = c.list_length(0)?;
    let (found, inverse) = (c.tensor(count)?, c.tensor(count + 1)?);
    let gradients = c.list(0, count)?;
    if is_done(unscale_at_once(&gradients, found, inverse))? {
        return written();
    }
    for gradient in gradients {
        let s = steps_in(gradient.dtype.wide(), gradient.place);
        let test = s.test(c"isfinite", &[gradient.into()])?;
        let all = reduced(c"all", &test, &axes_of(&[], test.rank())?, false)?;
        let truth = steps_in(found.dtype, found.place);
        let whole = all.expanded(&found.shape)?;
        let inputs = [(&whole).into(), found.into(), Number::Real(1.0).into()];
        truth.into(c"where", &inputs, found)?;
        s.into(c"multiply", &[gradient.into(), inverse.into()], gradient)?;
    }
    written()
}

/// A smaller scale where a gradient was not finite, a larger one after so many steps where none was.
fn update_scale(c: &Call) -> Outcome<Results> {
    let (scale, tracker, found) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (growth, backoff, interval) = (c.real(0)?, c.real(1)?, c.int(2)?);
    let s = steps_in(scale.dtype, scale.place);
    let counting = steps_in(tracker.dtype, tracker.place);
    let is_found = s.test(c"not_equal", &[found.into(), 0.0.into()])?;
    let next = counting.made(c"add", &[tracker.into(), Number::Int(1).into()])?;
    let is_due = counting.test(c"equal", &[(&next).into(), Number::Int(interval).into()])?;
    let grown = s.made(c"multiply", &[scale.into(), growth.into()])?;
    // A scale that would be infinite stays.
    let is_finite = s.test(c"isfinite", &[(&grown).into()])?;
    let grown = s.made(
        c"where",
        &[(&is_finite).into(), (&grown).into(), scale.into()],
    )?;
    let shrunk = s.made(c"multiply", &[scale.into(), backoff.into()])?;
    let kept = s.made(c"where", &[(&is_due).into(), (&grown).into(), scale.into()])?;
    s.into(
        c"where",
        &[(&is_found).into(), (&shrunk).into(), (&kept).into()],
        scale,
    )?;
    let zero = Number::Int(0);
    let kept = counting.made(c"where", &[(&is_due).into(), zero.into(), (&next).into()])?;
    counting.into(
        c"where",
        &[(&is_found).into(), zero.into(), (&kept).into()],
        tracker,
    )?;
    written()
}
