// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300914;
export const functionsDigest = 'cccd06c3410dd8e2d9fe38d3be7c5896da90b76f02e8a3b00431cf4447fe2c45';
