import type { SandboxCall } from '../../adapters/sandbox/containers.ts';

/** For the sandbox without a platform. */
export const SANDBOX_CALL: SandboxCall = {
  image: 'tools:1',
  pull: 'never',
  key: 'call',
  arguments: [],
  env: {},
  stdin: null,
  ports: {},
  mounts: [],
  files: null,
  title: '',
  keepSeconds: 0,
  timeoutMs: 60_000,
  outputBytes: 1_000,
  whole: [],
  signal: new AbortController().signal,
};
