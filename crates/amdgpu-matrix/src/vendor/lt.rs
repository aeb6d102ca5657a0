//! cuBLASLt, and hipBLASLt, which has the same functions with other names and numbers.

use std::collections::HashMap;
use std::ffi::c_void;

use super::engine::{Answer, Engine, Workspace};
use super::functions::{Handle, LtFunctions, LtNames, Status};
use super::open::Found;
use super::product::{Key, Number, Product, Stored, VendorEpilogue};
use crate::Error;

/// Workspace that algorithms may ask for: what NVIDIA recommends for its newest GPUs; smaller ones are content with less.
const MAX_WORKSPACE_BYTES: u64 = 32 << 20;
/// Shapes whose algorithm is remembered; asking for one takes longer than a launch.
const MAX_PLANS: usize = 1024;
/// Room for a record of an algorithm, in words: `algo`, `size_t workspaceSize`, status, waves, `int reserved[4]`.
const RECORD_WORDS: usize = 12;

/// `CUBLASLT_EPILOGUE_*` and `HIPBLASLT_EPILOGUE_*`.
const EPILOGUE_BIAS: u32 = 4;
const EPILOGUE_RELU_BIAS: u32 = 6;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`, the same in both.
const PREFERENCE_WORKSPACE: i32 = 1;

/// `cudaDataType_t` and `hipDataType`.
const fn data_type(number: Number) -> i32 {
    match number {
        Number::F32 | Number::Tf32 => 0,
        Number::F64 => 1,
        Number::F16 => 2,
        Number::I8 => 3,
        Number::I32 => DATA_TYPE_I32,
        Number::Bf16 => 14,
    }
}
const DATA_TYPE_F32: i32 = 0;
const DATA_TYPE_F64: i32 = 1;
const DATA_TYPE_I32: i32 = 10;

/// `CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE`: parts of a sum are put together in the type that is summed in. The other schemes round every part
/// to the type of the result first.
static REDUCTION_IN_SUMS: u32 = 2;

/// What differs between the two.
pub(super) struct Dialect {
    pub name: &'static str,
    names: LtNames,
    /// `OP_N` and `OP_T`.
    operations: [i32; 2],
    product_transpose: [i32; 2],
    product_epilogue: i32,
    product_bias: i32,
    product_bias_type: i32,
    layout_batch: i32,
    layout_stride: i32,
    /// The four attributes from `CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES` on.
    preference_alignment: Option<i32>,
    /// `CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK`.
    preference_reduction: Option<i32>,
    /// Sums in float64, float32, float32 with operands cut to tf32, int32.
    compute: [i32; 4],
    algorithm_bytes: usize,
    /// `STATUS_NOT_SUPPORTED`.
    not_supported: Status,
    statuses: &'static [(Status, &'static str)],
}

/// cuBLASLt.
pub(super) static CUDA: Dialect = Dialect {
    name: "cuBLASLt",
    names: LtNames {
        create: c"cublasLtCreate",
        destroy: c"cublasLtDestroy",
        product_create: c"cublasLtMatmulDescCreate",
        product_destroy: c"cublasLtMatmulDescDestroy",
        product_set: c"cublasLtMatmulDescSetAttribute",
        layout_create: c"cublasLtMatrixLayoutCreate",
        layout_destroy: c"cublasLtMatrixLayoutDestroy",
        layout_set: c"cublasLtMatrixLayoutSetAttribute",
        preference_create: c"cublasLtMatmulPreferenceCreate",
        preference_destroy: c"cublasLtMatmulPreferenceDestroy",
        preference_set: c"cublasLtMatmulPreferenceSetAttribute",
        heuristic: c"cublasLtMatmulAlgoGetHeuristic",
        multiply: c"cublasLtMatmul",
    },
    operations: [0, 1],
    product_transpose: [3, 4],
    product_epilogue: 7,
    product_bias: 8,
    product_bias_type: 26,
    layout_batch: 5,
    layout_stride: 6,
    preference_alignment: Some(5),
    preference_reduction: Some(3),
    compute: [70, 68, 77, 72],
    algorithm_bytes: 64,
    not_supported: 15,
    statuses: &[
        (1, "NOT_INITIALIZED"),
        (3, "ALLOC_FAILED"),
        (7, "INVALID_VALUE"),
        (8, "ARCH_MISMATCH"),
        (11, "MAPPING_ERROR"),
        (13, "EXECUTION_FAILED"),
        (14, "INTERNAL_ERROR"),
        (15, "NOT_SUPPORTED"),
        (16, "LICENSE_ERROR"),
    ],
};

/// hipBLASLt.
pub(super) static HIP: Dialect = Dialect {
    name: "hipBLASLt",
    names: LtNames {
        create: c"hipblasLtCreate",
        destroy: c"hipblasLtDestroy",
        product_create: c"hipblasLtMatmulDescCreate",
        product_destroy: c"hipblasLtMatmulDescDestroy",
        product_set: c"hipblasLtMatmulDescSetAttribute",
        layout_create: c"hipblasLtMatrixLayoutCreate",
        layout_destroy: c"hipblasLtMatrixLayoutDestroy",
        layout_set: c"hipblasLtMatrixLayoutSetAttribute",
        preference_create: c"hipblasLtMatmulPreferenceCreate",
        preference_destroy: c"hipblasLtMatmulPreferenceDestroy",
        preference_set: c"hipblasLtMatmulPreferenceSetAttribute",
        heuristic: c"hipblasLtMatmulAlgoGetHeuristic",
        multiply: c"hipblasLtMatmul",
    },
    operations: [111, 112],
    product_transpose: [0, 1],
    product_epilogue: 2,
    product_bias: 3,
    product_bias_type: 4,
    layout_batch: 0,
    layout_stride: 1,
    preference_alignment: None,
    preference_reduction: None,
    compute: [7, 2, 6, 9],
    algorithm_bytes: 24,
    not_supported: 7,
    statuses: &[
        (1, "NOT_INITIALIZED"),
        (2, "ALLOC_FAILED"),
        (3, "INVALID_VALUE"),
        (4, "MAPPING_ERROR"),
        (5, "EXECUTION_FAILED"),
        (6, "INTERNAL_ERROR"),
        (7, "NOT_SUPPORTED"),
        (8, "ARCH_MISMATCH"),
    ],
};

/// A handle with the algorithms of shapes that were multiplied before.
pub(super) struct Lt {
    dialect: &'static Dialect,
    functions: LtFunctions,
    handle: Handle,
    /// `None` for what the library does not compute.
    plans: HashMap<Key, Option<Plan>>,
}

/// Descriptors and algorithm of a shape.
struct Plan {
    product: Handle,
    layouts: [Handle; 3],
    record: [u64; RECORD_WORDS],
    workspace_bytes: u64,
}

impl Dialect {
    fn check(&self, operation: &'static str, status: Status) -> Result<(), Error> {
        if status == 0 {
            return Ok(());
        }
        let name = self
            .statuses
            .iter()
            .find(|(number, _)| *number == status)
            .map_or("unknown status", |(_, name)| *name);
        Err(Error::vendor(
            self.name,
            operation,
            &format!("{name} ({status})"),
        ))
    }
}

impl Lt {
    pub fn new(dialect: &'static Dialect, library: &Found) -> Result<Self, Error> {
        // SAFETY: the names are those of the header of this very library.
        let functions = unsafe { LtFunctions::load(library, &dialect.names) }?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status = unsafe { (functions.create)(&raw mut handle) };
        dialect.check("starting", status)?;
        Ok(Self {
            dialect,
            functions,
            handle,
            plans: HashMap::new(),
        })
    }

    fn forget_plans(&mut self) {
        for plan in std::mem::take(&mut self.plans).into_values().flatten() {
            self.destroy(plan.product, &plan.layouts);
        }
    }

    fn destroy(&self, product: Handle, layouts: &[Handle]) {
        // SAFETY: made by `describe`, destroyed once; a failure has nobody left to hear it. 0 was never made.
        unsafe {
            for &layout in layouts.iter().filter(|layout| **layout != 0) {
                (self.functions.layout_destroy)(layout);
            }
            if product != 0 {
                (self.functions.product_destroy)(product);
            }
        }
    }

    /// A plan for a product; `None` when the library does not compute it.
    fn plan(&self, product: &Product) -> Result<Option<Plan>, Error> {
        let mut plan = Plan {
            product: 0,
            layouts: [0; 3],
            record: [0; RECORD_WORDS],
            workspace_bytes: 0,
        };
        let outcome = self
            .describe(product, &mut plan)
            .and_then(|()| self.choose(product, &mut plan));
        match outcome {
            Ok(true) => Ok(Some(plan)),
            outcome => {
                self.destroy(plan.product, &plan.layouts);
                outcome.map(|_| None)
            }
        }
    }

    fn describe(&self, product: &Product, plan: &mut Plan) -> Result<(), Error> {
        let (dialect, number) = (self.dialect, product.number);
        let [f64_sums, f32_sums, tf32_sums, i32_sums] = dialect.compute;
        let (compute, scale) = match number {
            Number::F64 => (f64_sums, DATA_TYPE_F64),
            Number::Tf32 => (tf32_sums, DATA_TYPE_F32),
            Number::I8 | Number::I32 => (i32_sums, DATA_TYPE_I32),
            Number::F32 | Number::F16 | Number::Bf16 => (f32_sums, DATA_TYPE_F32),
        };
        // SAFETY: the place for the result is valid.
        let status =
            unsafe { (self.functions.product_create)(&raw mut plan.product, compute, scale) };
        dialect.check("describing a product", status)?;
        let stored = product.stored();
        for (factor, attribute) in stored.iter().zip(dialect.product_transpose) {
            let operation = dialect.operations[usize::from(factor.is_transposed)];
            self.set_product(plan, attribute, &operation)?;
        }
        let output = data_type(number.output());
        let epilogue = match product.epilogue {
            VendorEpilogue::None => None,
            VendorEpilogue::Bias => Some(EPILOGUE_BIAS),
            VendorEpilogue::BiasRelu => Some(EPILOGUE_RELU_BIAS),
        };
        if let Some(epilogue) = epilogue {
            self.set_product(plan, dialect.product_epilogue, &epilogue)?;
            self.set_product(plan, dialect.product_bias_type, &output)?;
            // The algorithm depends on the alignment of the address.
            self.set_product(plan, dialect.product_bias, &product.bias)?;
        }
        let types = [data_type(number), data_type(number), output];
        for ((layout, stored), data_type) in plan.layouts.iter_mut().zip(stored).zip(types) {
            *layout = self.layout(stored, data_type, product.batch)?;
        }
        Ok(())
    }

    fn set_product<T>(&self, plan: &Plan, attribute: i32, value: &T) -> Result<(), Error> {
        // SAFETY: the descriptor is live, the attribute's type in the header has the size of `T`, and the value is copied.
        let status = unsafe {
            (self.functions.product_set)(
                plan.product,
                attribute,
                std::ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        };
        self.dialect.check("describing a product", status)
    }

    fn layout(&self, stored: Stored, data_type: i32, batch: u64) -> Result<Handle, Error> {
        let mut layout = 0;
        // SAFETY: the place for the result is valid; columns follow each other without gaps.
        let status = unsafe {
            (self.functions.layout_create)(
                &raw mut layout,
                data_type,
                stored.rows,
                stored.columns,
                stored.rows as i64,
            )
        };
        self.dialect.check("describing a matrix", status)?;
        if batch == 1 {
            return Ok(layout);
        }
        let (count, stride) = (batch as i32, stored.stride());
        // SAFETY: the descriptor is live; the header gives the attributes as int32_t and int64_t, which are copied.
        let status = unsafe {
            let counted = (self.functions.layout_set)(
                layout,
                self.dialect.layout_batch,
                (&raw const count).cast(),
                size_of_val(&count),
            );
            let strided = (self.functions.layout_set)(
                layout,
                self.dialect.layout_stride,
                (&raw const stride).cast(),
                size_of_val(&stride),
            );
            if counted == 0 { strided } else { counted }
        };
        let described = self.dialect.check("describing a stack of matrices", status);
        if described.is_err() {
            self.destroy(0, &[layout]);
        }
        described.map(|()| layout)
    }

    /// Asks for the best algorithm; `false` when there is none.
    fn choose(&self, product: &Product, plan: &mut Plan) -> Result<bool, Error> {
        let mut preference = 0;
        // SAFETY: the place for the result is valid.
        let status = unsafe { (self.functions.preference_create)(&raw mut preference) };
        self.dialect.check("describing a preference", status)?;
        let found = self.choose_with(product, plan, preference);
        // SAFETY: made above, destroyed once.
        unsafe { (self.functions.preference_destroy)(preference) };
        found
    }

    fn choose_with(
        &self,
        product: &Product,
        plan: &mut Plan,
        preference: Handle,
    ) -> Result<bool, Error> {
        let alignment = product.alignment_bytes() as u32;
        let mut wishes: Vec<(i32, *const c_void, usize)> = vec![(
            PREFERENCE_WORKSPACE,
            (&raw const MAX_WORKSPACE).cast(),
            size_of::<u64>(),
        )];
        if let Some(first) = self.dialect.preference_alignment {
            wishes.extend(
                (first..first + 4)
                    .map(|attribute| (attribute, (&raw const alignment).cast(), size_of::<u32>())),
            );
        }
        let is_narrow = matches!(product.number, Number::F16 | Number::Bf16);
        if let Some(attribute) = self.dialect.preference_reduction.filter(|_| is_narrow) {
            // A narrow result is rounded once.
            wishes.push((
                attribute,
                (&raw const REDUCTION_IN_SUMS).cast(),
                size_of::<u32>(),
            ));
        }
        for (attribute, value, bytes) in wishes {
            // SAFETY: the descriptor is live; the header gives the attributes as uint64_t and uint32_t, which are copied.
            let status =
                unsafe { (self.functions.preference_set)(preference, attribute, value, bytes) };
            self.dialect.check("describing a preference", status)?;
        }
        let mut count = 0;
        let [a, b, out] = plan.layouts;
        // SAFETY: all descriptors are live, and there is room for the one record that is asked for.
        let status = unsafe {
            (self.functions.heuristic)(
                self.handle,
                plan.product,
                a,
                b,
                out,
                out,
                preference,
                1,
                plan.record.as_mut_ptr().cast(),
                &raw mut count,
            )
        };
        if status == self.dialect.not_supported || (status == 0 && count < 1) {
            return Ok(false);
        }
        self.dialect.check("choosing an algorithm", status)?;
        let behind = self.dialect.algorithm_bytes / size_of::<u64>();
        plan.workspace_bytes = plan.record[behind];
        let state = plan.record[behind + 1] as u32;
        Ok(state == 0 && plan.workspace_bytes <= MAX_WORKSPACE_BYTES)
    }
}

static MAX_WORKSPACE: u64 = MAX_WORKSPACE_BYTES;

impl Engine<Product> for Lt {
    fn known(&self, product: &Product) -> Option<Answer> {
        let plan = self.plans.get(&product.key())?;
        Some(
            plan.as_ref()
                .map_or(Answer::Refuses, |plan| Answer::Computes {
                    workspace_bytes: plan.workspace_bytes,
                }),
        )
    }

    fn prepare(&mut self, product: &Product) -> Result<Answer, Error> {
        let key = product.key();
        if !self.plans.contains_key(&key) {
            if self.plans.len() >= MAX_PLANS {
                self.forget_plans();
            }
            let plan = self.plan(product)?;
            self.plans.insert(key, plan);
        }
        Ok(self.known(product).unwrap_or(Answer::Refuses))
    }

    unsafe fn submit(
        &mut self,
        product: &Product,
        workspace: Workspace,
        stream: u64,
    ) -> Result<bool, Error> {
        // Another thread may have let the plans go since `prepare`.
        self.prepare(product)?;
        let Some(Some(plan)) = self.plans.get(&product.key()) else {
            return Ok(false);
        };
        if plan.workspace_bytes > workspace.bytes {
            return Ok(false);
        }
        if product.epilogue != VendorEpilogue::None {
            self.set_product(plan, self.dialect.product_bias, &product.bias)?;
        }
        let factors = product.factors();
        let [alpha, beta] = factors.addresses();
        let [a, b, out] = plan.layouts;
        // SAFETY: descriptors and algorithm belong to this shape; the caller vouches for the memory and the stream. The first factor of the
        // library is our second operand, as `stored` has it.
        let status = unsafe {
            (self.functions.multiply)(
                self.handle,
                plan.product,
                alpha,
                product.b,
                a,
                product.a,
                b,
                beta,
                product.out,
                out,
                product.out,
                out,
                plan.record.as_ptr().cast(),
                workspace.address,
                workspace.bytes as usize,
                stream,
            )
        };
        if status == self.dialect.not_supported {
            return Ok(false);
        }
        self.dialect.check("multiplying", status).map(|()| true)
    }

    fn close(&mut self) {
        self.forget_plans();
        // SAFETY: made by `new`, destroyed once; nothing is called afterwards.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}
