/**
 * Finds the keys that are used and denied most, in bounded memory, without revealing a key. Looks at the root
 * and the hashes.
 */
@NullMarked
package io.github.reactorratelimit.hotkeys;

import org.jspecify.annotations.NullMarked;
