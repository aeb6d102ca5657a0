/** Errors of the server as errors of this package. */

import type { Payload } from "./codec.js";
import type { AmdgpuError } from "./error_base.js";
import { ERROR_CLASSES, InvalidMessageError, NotPermittedError } from "./generated/errors.js";
import { stringOr } from "./json.js";

/** Phoenix' own words for refusals, which are not in the catalogue. */
const UNAUTHORIZED = "unauthorized";

/** The error in a reply whose status is not "ok". `request` names what was asked. */
export function errorFromReply(request: string, status: string, response: Payload): AmdgpuError {
  const fields = response instanceof ArrayBuffer ? {} : response;
  const reason = stringOr(fields["reason"], "");
  const hint = typeof fields["hint"] === "string" ? fields["hint"] : undefined;
  const details = { hint, language: stringOr(fields["language"], "python") };
  const known = ERROR_CLASSES.get(reason);
  if (known !== undefined) {
    return new known(stringOr(fields["message"], `${request}: ${reason}`), details);
  }
  const text = stringOr(fields["message"], reason || `status ${status}`);
  const kind = reason === UNAUTHORIZED ? NotPermittedError : InvalidMessageError;
  return new kind(`the server refused ${request}: ${text}`, details);
}
