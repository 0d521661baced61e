// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611240249;
export const functionsDigest = '119373a1fcc5dbb79100f4c9ee849a23574e354895494ade59887a6091753c71';
