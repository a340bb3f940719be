/**
 * State in this process: the cells and their CAS loop, the bounded table of keys, eviction, the
 * overflow cells. Looks at the root package, the algorithms and the waiting lines.
 */
@NullMarked
package io.github.reactorratelimit.local;

import org.jspecify.annotations.NullMarked;
