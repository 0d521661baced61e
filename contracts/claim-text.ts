/**
 * A claim and its value as people write them: `acr=gold`. Space around them does not count. Null if one of
 * them is missing.
 */
export function claimOf(text: string): { claim: string; value: string } | null {
  const at = text.indexOf('=');
  const [claim, value] = [text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1).trim()];
  return claim === '' || value === '' ? null : { claim, value };
}
