// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611282155;
export const functionsDigest = 'ca3dfd52acb957145e522f6c94120567e043bef56a4dbd3a077a3465c3fb9305';
