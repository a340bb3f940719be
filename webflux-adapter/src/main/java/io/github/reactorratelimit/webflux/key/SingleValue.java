package io.github.reactorratelimit.webflux.key;

import java.util.List;
import java.util.Optional;
import org.springframework.http.HttpStatus;
import org.springframework.web.server.ResponseStatusException;

/**
 * The one value that a client sent under a name. Several different ones are refused: the application may act on one of them and the
 * limit count for another, and a client that sends a fresh one with each request would never be limited.
 */
final class SingleValue {

    private SingleValue() {}

    /**
     * The value without blanks around it; empty if there is none, or only blanks.
     *
     * @param what names it in the answer to the client; never holds a value
     * @throws ResponseStatusException 400, if there are several
     */
    static Optional<String> only(List<String> values, String what) {
        List<String> different = different(values);
        if (different.size() > 1) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, what + " was sent with several values");
        }
        return different.stream().filter(value -> !value.isEmpty()).findFirst();
    }

    /** The first two different values, without blanks around them. */
    static List<String> different(List<String> values) {
        return values.stream().map(KeyText::stripped).distinct().limit(2).toList();
    }
}
