/** Trying again what was refused: when, how often, and not so often that it becomes another storm. Looks at the root. */
@NullMarked
package io.github.reactorratelimit.retry;

import org.jspecify.annotations.NullMarked;
