/**
 * Messages and stack traces of failures travel as payloads, so that the codec encrypts them: they may quote a run's data.
 * CommonJS: the SDK requires it by its path, in api and worker and again in the workflows' bundle.
 */
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
