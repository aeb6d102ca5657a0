/** Client of `amdgpu serve`. Everything public is exported from here. */

export { AmdgpuError, type ErrorDetails } from "./error_base.js";
export * from "./generated/errors.js";
export * from "./generated/metrics.js";
export { VERSION } from "./generated/version.js";
