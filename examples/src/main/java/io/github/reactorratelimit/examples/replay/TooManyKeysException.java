package io.github.reactorratelimit.examples.replay;

import java.util.Locale;

/** A log has more different keys than a comparison takes. */
public final class TooManyKeysException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    TooManyKeysException(int most) {
        super(String.format(Locale.ROOT, "more than %,d different keys", most));
    }
}
