// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231737;
export const functionsDigest = 'b95fb2e9a3f65865ff23920fbb2063a59bb8f5969fc1a18e488e69e3fd7d8c62';
