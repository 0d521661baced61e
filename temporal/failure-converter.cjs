/**
 * Encodes messages and stack traces of failures as payloads, so that the codec encrypts them: they may quote
 * a run's data. CommonJS, because the SDK requires it by path in api and worker, and again in the workflow
 * bundle.
 */
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
