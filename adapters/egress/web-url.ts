import { fault } from '../../contracts/fault.ts';

/** The URL to call. Throws `Fault` if it is not absolute, not http or https, or has credentials. */
export function webUrl(text: string): URL {
  if (!URL.canParse(text)) throw fault('configuration', 'The address to call is not an absolute URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw fault('configuration', `Only http and https addresses can be called, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw fault('configuration', 'Credentials in an address are not sent; configure an authentication');
  return url;
}

/** A host name as URLs write it; an IPv6 address loses its brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The port of a URL, or the default port of its protocol. */
export function portOf({ port, protocol }: { port: string; protocol: string }): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}
