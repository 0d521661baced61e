/** Makes sure that there is a local Temporal server, and prints its path: set-up of machines that run tests. */
import { findTemporalBinary } from './temporal-binary.ts';

const path = await findTemporalBinary((line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${path}\n`);
