/** The bytes of a text that is base64 and nothing else, which Node's decoder does not check; else null. */
export function bytesOfBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
