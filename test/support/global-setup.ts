/**
 * Makes the folder of a test run. Servers start in it when a test first asks for them (servers.ts); what such
 * a start may need minutes for, the build of a Temporal server on a new machine, is done here, outside of the
 * time limits of tests.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalBinary } from '../../dev/temporal-binary.ts';
import { runFolderVariable } from './run-folder.ts';

export default async function globalSetup(config: { nonFlagArgs?: readonly string[] }): Promise<void> {
  const paths = config.nonFlagArgs ?? [];
  const unitOnly = paths.length > 0 && paths.every((path) => /(^|\/)test\/unit\b/.test(path));
  if (!unitOnly) await findTemporalBinary((line) => process.stderr.write(`${line}\n`));
  process.env[runFolderVariable] = mkdtempSync(join(tmpdir(), 'cadenza-test-'));
}
