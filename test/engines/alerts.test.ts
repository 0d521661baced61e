/** docker/alerts.yml and the cases of its alerts, as Prometheus' own program reads them. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect } from '@jest/globals';

import { testUnless } from '../support/outside.ts';
import { findPromtool } from '../support/promtool.ts';

const docker = join(import.meta.dirname, '../../docker');
const folder = mkdtempSync(join(tmpdir(), 'cadenza-alerts-'));
const found = await findPromtool();
const testWithPromtool = testUnless('missing' in found ? found.missing : undefined);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Result {
  succeeds: boolean;
  text: string;
}

async function promtool(...args: string[]): Promise<Result> {
  const program = 'program' in found ? found.program : '';
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args);
    return { succeeds: true, text: stdout + stderr };
  } catch (error) {
    return { succeeds: false, text: String(Reflect.get(Object(error), 'stdout')) + String(error) };
  }
}

testWithPromtool('Prometheus reads the rules', async () => {
  const { succeeds, text } = await promtool('check', 'rules', '--lint-fatal', join(docker, 'alerts.yml'));
  expect([succeeds, text]).toEqual([true, expect.stringMatching(/SUCCESS: \d\d rules found/)]);
});

testWithPromtool('each alert fires on its case, and none when nothing is wrong', async () => {
  const { succeeds, text } = await promtool('test', 'rules', join(docker, 'alerts.test.yml'));
  expect([succeeds, text]).toEqual([true, expect.stringContaining('SUCCESS')]);
});

testWithPromtool('the cases notice a rule that has been changed', async () => {
  cpSync(join(docker, 'alerts.test.yml'), join(folder, 'alerts.test.yml'));
  const rules = readFileSync(join(docker, 'alerts.yml'), 'utf8');
  for (const [from, to] of [
    ['cadenza_audit_unsealed_seconds) > 300', 'cadenza_audit_unsealed_seconds) > 3000'],
    ['cadenza_delivery_lag_seconds) > 600', 'cadenza_delivery_lag_seconds) > 6'],
    ['(sum(up{job="worker"}) or vector(0)) == 0', 'sum(up{job="worker"}) == 0'],
  ] as const) {
    expect(rules).toContain(from);
    writeFileSync(join(folder, 'alerts.yml'), rules.replace(from, to));
    const { succeeds, text } = await promtool('test', 'rules', join(folder, 'alerts.test.yml'));
    expect([to, succeeds, text]).toEqual([to, false, expect.stringContaining('FAILED')]);
  }
});
