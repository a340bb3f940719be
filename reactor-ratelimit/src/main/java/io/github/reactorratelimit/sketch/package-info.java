/**
 * State in this process that takes the same memory for any number of keys, and is stricter for it. Looks at the
 * root, the algorithms, the lines and the hashes.
 */
@NullMarked
package io.github.reactorratelimit.sketch;

import org.jspecify.annotations.NullMarked;
