/** A pattern that is wrong; the message is Oniguruma's. */
export class RegexError extends Error {}
