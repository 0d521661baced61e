// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300929;
export const functionsDigest = 'de7ea0b6d43159f3c01916918e2b180ec1af0db3b252eea1121492e70045ac85';
