package io.github.reactorratelimit.webflux.key;

import java.util.Optional;

/** The token in an {@code Authorization} header. */
final class BearerToken {

    private static final String SCHEME = "bearer";

    private BearerToken() {}

    /** The scheme is spelled in any case, with any number of blanks after it (RFC 9110, section 11.4). */
    static Optional<String> in(String credentials) {
        boolean bearer = credentials.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                && credentials.length() > SCHEME.length()
                && isBlank(credentials.charAt(SCHEME.length()));
        return bearer
                ? Optional.of(withoutSignature(KeyText.stripped(credentials.substring(SCHEME.length()))))
                        .filter(token -> !token.isEmpty())
                : Optional.empty();
    }

    private static boolean isBlank(char c) {
        return c == ' ' || c == '\t';
    }

    /**
     * The last bits of a signature in base64 say nothing, so that one JWT has up to 16 spellings. What is signed has one. Padding
     * of an opaque token is cut for the same reason.
     */
    private static String withoutSignature(String token) {
        int first = token.indexOf('.');
        int second = first < 0 ? -1 : token.indexOf('.', first + 1);
        boolean jwt = second >= 0 && token.indexOf('.', second + 1) < 0;
        return jwt ? token.substring(0, second) : withoutPadding(token);
    }

    private static String withoutPadding(String token) {
        int end = token.length();
        while (end > 0 && token.charAt(end - 1) == '=') {
            end--;
        }
        return token.substring(0, end);
    }
}
