import { anything, duration, name } from '../common-shapes.ts';
import { at, quote } from '../problems.ts';
import { byType, exact } from '../shape.ts';
import { z } from 'zod';
import { isVersionRange } from '../version-range.ts';
import { inTask, type Call } from './kind.ts';

/** `call: agent` (docs/interface.md#call-agent). */
export const agentCall: Call = {
  arguments: exact({
    agent: name,
    version: name.optional(),
    input: anything.optional(),
    skill: name.optional(),
    timeout: duration.optional(),
    stream: byType({ boolean: z.boolean(), string: name }).optional(),
    session: name.optional(),
  }),
  check(parameters, pointer, locals, checker) {
    const place = inTask(locals);
    const { agent, version, stream } = parameters;
    for (const key of ['agent', 'version', 'skill', 'timeout', 'stream', 'session'])
      checker.text(parameters[key], at(pointer, key), place);
    checker.template(parameters['input'], at(pointer, 'input'), place);
    const literalVersion = typeof version === 'string' && !version.includes('${') ? version : undefined;
    const isVersion =
      literalVersion === undefined || literalVersion === 'draft' || isVersionRange(literalVersion);
    if (literalVersion !== undefined && !isVersion) {
      checker.problems.error(
        at(pointer, 'version'),
        'version',
        `${quote(literalVersion)} is not a semantic version or range such as 1.2.0, ^1.2.0 or >=1.0.0 ` +
          '<2.0.0, and not draft',
      );
    }
    if (typeof stream === 'string' && !stream.includes('${')) {
      checker.problems.error(
        at(pointer, 'stream'),
        'wrong_type',
        '"stream" must be true, false or an expression',
      );
    }
    if (typeof agent === 'string' && agent !== '' && !agent.includes('${')) {
      checker.references.agents.push({
        pointer: at(pointer, 'agent'),
        agent,
        ...(isVersion && literalVersion !== undefined ? { version: literalVersion } : {}),
      });
    }
  },
};
