import { z } from 'zod';
import { anything, endpoint, freeObject, name, textMap } from '../common-shapes.ts';
import type { Checker } from '../checker.ts';
import { checkHeaders } from '../headers.ts';
import { at, own, quote } from '../problems.ts';
import { checkEndpoint } from '../reusable.ts';
import { byType, exact } from '../shape.ts';
import { didYouMean } from '../../../contracts/suggest.ts';
import { inTask, type Call } from './kind.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export const outputFormat = z.enum(['raw', 'content', 'response']);

/** Checks that a literal endpoint is one of http or https. */
export function checkWebAddress(endpoint: unknown, pointer: string, checker: Checker): void {
  const isText = typeof endpoint === 'string';
  const uri = isText ? endpoint : own(endpoint, 'uri');
  if (typeof uri === 'string' && uri !== '' && !/^(?:https?:\/\/|\s*\$\{|\{)/i.test(uri)) {
    checker.problems.error(
      isText ? pointer : at(pointer, 'uri'),
      'endpoint',
      `${quote(uri)} must begin with http:// or https://`,
    );
  }
}

export const httpCall: Call = {
  arguments: exact({
    method: name,
    endpoint,
    headers: byType({ object: textMap, string: name }).optional(),
    body: anything.optional(),
    query: byType({ object: freeObject, string: name }).optional(),
    output: outputFormat.optional(),
    redirect: z.boolean().optional(),
  }),
  check(parameters, pointer, locals, checker) {
    const place = inTask(locals, 'allow');
    const { method } = parameters;
    checker.text(method, at(pointer, 'method'), place);
    if (typeof method === 'string' && !method.includes('${') && !METHODS.includes(method.toUpperCase())) {
      checker.problems.error(
        at(pointer, 'method'),
        'not_allowed',
        `${quote(method)} is not one of ${METHODS.join(', ')}${didYouMean(method.toUpperCase(), METHODS)}`,
      );
    }
    checkEndpoint(parameters['endpoint'], at(pointer, 'endpoint'), locals, checker, 'allow');
    checkWebAddress(parameters['endpoint'], at(pointer, 'endpoint'), checker);
    for (const key of ['headers', 'query']) {
      const value = parameters[key];
      if (typeof value === 'string' && value !== '' && !/^\s*\$\{[\s\S]*\}\s*$/.test(value)) {
        checker.problems.error(
          at(pointer, key),
          'wrong_type',
          `"${key}" must be an object, or an expression that gives one: \${ … }`,
        );
      } else checker.template(value, at(pointer, key), place);
    }
    checkHeaders(parameters['headers'], at(pointer, 'headers'), checker);
    checker.template(parameters['body'], at(pointer, 'body'), place);
  },
};
