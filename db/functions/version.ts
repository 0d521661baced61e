// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300150;
export const functionsDigest = '21132123e5cd145bdaa3474d2040544f3958ca56f95138221c7e1d267a4a6956';
