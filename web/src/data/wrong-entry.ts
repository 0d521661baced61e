/** Something that was entered cannot be used; the message is a sentence for people. */
export class WrongEntry extends Error {
  override readonly name = 'WrongEntry';
}
