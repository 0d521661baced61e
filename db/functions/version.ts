// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230331;
export const functionsDigest = 'dc712582674a87f972b49ee7b732e7eb49fb35cc26c681893b929c159ed23a84';
