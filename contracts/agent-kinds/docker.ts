/** Configuration of agents of kind `docker`: each invocation is a process in a container of its own. */
import * as z from 'zod';
import { jsonObjectOf } from '../json-object.ts';
import { LEAST_CPUS, LEAST_MEMORY_MIB } from '../process-policy.ts';
import { duration, retry, scalar, type AgentKind } from './kind.ts';

const words = z.array(scalar);
const MIB = 1024 * 1024;
const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: MIB, g: 1024 * MIB };
const SIZE = /^(\d{1,12})([kmg]?)b?$/i;
/** Not root: neither by number nor by a name that the image may give to root. */
export const USER = /^[1-9]\d{0,8}(?::[1-9]\d{0,8})?$/;

export const dockerConfiguration = z
  .looseObject({
    image: z.string().optional(),
    /** Arguments of the entry point, as Docker's CMD; or a text that `/bin/sh` of the image runs. */
    command: z.union([z.string(), words]).optional(),
    /** Replaces the image's own; a text is a program without arguments. */
    entrypoint: z.union([z.string(), words.min(1)]).optional(),
    /** Strings may contain `${ … }` over the input and `<SECRET>`. */
    env: jsonObjectOf(scalar.nullable()).optional(),
    /** How the input gets into the container. Default: `stdin`. */
    input: z.enum(['stdin', 'file', 'args']).optional(),
    /** Where the output comes from. Default: `stdout`. */
    output: z.enum(['stdout', 'file']).optional(),
    /** Needs a network of the installation, too. Default: false. */
    network: z.boolean().optional(),
    /** MiB, or a text such as `256m`. */
    memory: z
      .union([
        z.number().positive(),
        z.string().regex(SIZE, 'must be a number of MiB, or a text such as "256m"'),
      ])
      .refine((memory) => memoryMibOf(memory) >= LEAST_MEMORY_MIB, `must be at least ${LEAST_MEMORY_MIB} MiB`)
      .optional(),
    cpus: z.number().min(LEAST_CPUS).optional(),
    pids: z.int().positive().optional(),
    user: z
      .string()
      .regex(USER, 'must be the numbers of a user and a group other than root, such as "1000:1000"')
      .optional(),
    /** Default: `missing`, unless the installation pulls no images. */
    pull: z.enum(['missing', 'always', 'never']).optional(),
    timeout: duration.optional(),
    retry: retry.optional(),
  })
  .superRefine(({ command, entrypoint }, context) => {
    if (typeof command === 'string' && entrypoint !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['command'],
        message: 'must be a list of arguments, because there is an entrypoint',
      });
  });

export type DockerConfiguration = z.infer<typeof dockerConfiguration>;

/** MiB of `memory`, which has been checked. */
export function memoryMibOf(memory: number | string): number {
  if (typeof memory === 'number') return memory;
  const [, digits = '', unit = ''] = SIZE.exec(memory) ?? [];
  return (Number(digits) * (UNITS[unit.toLowerCase()] ?? 1)) / MIB;
}

export const dockerKind: AgentKind = {
  configuration: dockerConfiguration,
  keys: ['image'],
  sendsCredentials: false,
};
