/** Whether an expression, or any text in a value, reads `$secrets`. */
export function readsSecrets(value: unknown): boolean {
  if (typeof value === 'string') return /\$secrets\b/.test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(readsSecrets);
}
