// Generated from dtypes.toml by ./x generate. Do not edit.

/** NumPy's names of what the server takes. */
export type Dtype =
  | "bool"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "float16"
  | "bfloat16"
  | "float32"
  | "float64";

/** What a matrix product computes in. */
export type Precision = "fp64" | "fp32" | "tf32" | "fp16" | "bf16" | "int8";
