/** Prometheus' program that checks and tests rules of alerts. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

import { cachedProgram, goProgram } from './go-program.ts';

// The first release whose module can be installed as it is. The rules use nothing that former ones lack.
const PROMTOOL = {
  name: 'promtool',
  module: 'github.com/prometheus/prometheus',
  main: 'cmd/promtool',
  version: 'v0.316.0',
  // Without the clients of clouds, with which only the server finds its targets.
  tags: 'remove_all_sd',
};

/**
 * The one on `PATH` or in the cache. It takes minutes of all processors to build, so that is done only on
 * demand. @returns the program, or why there is none
 */
export async function findPromtool(): Promise<{ program: string } | { missing: string }> {
  if (spawnSync('promtool', ['--version']).status === 0) return { program: 'promtool' };
  const program = cachedProgram(PROMTOOL);
  if (existsSync(program)) return { program };
  if (process.env['BUILD_PROMTOOL'] === '1') return goProgram(PROMTOOL);
  return { missing: 'no promtool: install Prometheus, or build it once with Go by BUILD_PROMTOOL=1' };
}
