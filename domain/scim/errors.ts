/** A refusal in SCIM's own shape (RFC 7644 section 3.12). */
export class ScimError extends Error {
  override readonly name = 'ScimError';
  readonly status: 400 | 404 | 409 | 412;
  readonly scimType: ScimType | undefined;

  constructor(status: 400 | 404 | 409 | 412, detail: string, scimType?: ScimType) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
  }
}

type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';
