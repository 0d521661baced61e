/** Why an issuer's answer does not identify anybody. `detail` is one sentence for people, without secrets. */
export class IdentityRefusal extends Error {
  override readonly name = 'IdentityRefusal';
  readonly code: IdentityRefusalCode;

  constructor(code: IdentityRefusalCode, detail: string, options?: { cause?: unknown }) {
    super(detail, options);
    this.code = code;
  }
}

/**
 * `issuer_unreachable`: no usable answer. `issuer_refused`: the issuer says no, for example because the user
 * cancelled. `invalid_answer`: the answer fails a check.
 */
export type IdentityRefusalCode = 'issuer_unreachable' | 'issuer_refused' | 'invalid_answer';
