/**
 * By how much V8's young generation grows while the daemon's code is loaded, which is once: from 2 to 8 MB, where it stays. With 4 MB, sets
 * at full speed take a third longer, and with more, a daemon takes more memory. Set before the load, because V8 keeps compiled code only for
 * the flags that it was compiled with.
 */
export const growthWhileLoading = 4;
