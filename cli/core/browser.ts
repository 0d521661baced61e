import { spawn } from 'node:child_process';
import { platform } from 'node:os';

import type { Cli } from './cli.ts';

/** Opens a page with $BROWSER or the system's opener. A machine without either has the address on stderr. */
export function openInBrowser(cli: Cli, url: string): void {
  const opener = cli.env['BROWSER'] || (platform() === 'darwin' ? 'open' : 'xdg-open');
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
