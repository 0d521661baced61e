/** E-mail addresses of accounts for which no issuer has told one: they never exist (RFC 2606). */
const NOWHERE = '.invalid';

export function unreachableAddress(username: string, issuerName: string): string {
  return `${username}@${issuerName}${NOWHERE}`;
}

/** Whether mails may be sent there. */
export function isReachable(address: string): boolean {
  return address !== '' && !address.toLowerCase().endsWith(NOWHERE);
}
