/** Finds or downloads a local Temporal server and prints its path. Used to set up machines that run tests. */
import { findTemporalBinary } from './temporal-binary.ts';

const path = await findTemporalBinary((line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${path}\n`);
