// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300150;
export const functionsDigest = '34003a0b87e30daa4cc31b1a7e97d6dadeffc5be88cfa88f36f5caa7f929061f';
