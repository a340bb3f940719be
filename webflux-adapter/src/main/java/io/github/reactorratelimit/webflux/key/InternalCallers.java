package io.github.reactorratelimit.webflux.key;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.springframework.web.server.ServerWebExchange;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Callers that are not limited: by the network they call from, or by a secret they know.
 *
 * <pre>{@code
 * InternalCallers.from(ClientAddress.ofPeer(), "10.0.0.0/8")
 *         .or(InternalCallers.withSecret("X-Internal", secret))
 * }</pre>
 */
public final class InternalCallers {

    private static final int MIN_SECRET_CHARS = 16;

    private static final Logger LOG = Loggers.getLogger(InternalCallers.class);

    private InternalCallers() {}

    /**
     * Callers from these networks. Logs a warning if every address is in one of them: then no client is limited.
     *
     * @param address whose address counts: behind proxies, the peer of the socket is a proxy, and often in an internal network itself
     * @throws IllegalArgumentException if there are no networks, or one is not a CIDR block
     */
    public static Predicate<ServerWebExchange> from(ClientAddress address, String... networks) {
        return from(address, Arrays.stream(networks).map(Cidr::parse).toList());
    }

    /** Callers from these networks; see {@link #from(ClientAddress, String...)}. */
    public static Predicate<ServerWebExchange> from(ClientAddress address, List<Cidr> networks) {
        Objects.requireNonNull(address, "address");
        if (networks.isEmpty()) {
            throw new IllegalArgumentException("networks must not be empty");
        }
        List<Cidr> all = List.copyOf(networks);
        if (all.stream().anyMatch(Cidr::holdsEveryAddress)) {
            LOG.warn("Every caller is internal ({}): none of them is limited", all);
        }
        return exchange -> address.of(exchange)
                .filter(caller -> all.stream().anyMatch(network -> network.contains(caller)))
                .isPresent();
    }

    /**
     * Callers that send one of these secrets in a header, once. The time that the comparison takes says nothing about
     * the secrets.
     *
     * @param secrets at least 16 characters each; more than one while they are being changed
     * @throws IllegalArgumentException if there are none, or one is shorter
     */
    public static Predicate<ServerWebExchange> withSecret(String headerName, String... secrets) {
        HeaderNames.check(headerName);
        if (secrets.length == 0) {
            throw new IllegalArgumentException("secrets must not be empty");
        }
        List<byte[]> known =
                Arrays.stream(secrets).map(InternalCallers::checked).toList();
        return exchange -> {
            List<String> sent = exchange.getRequest().getHeaders().getOrEmpty(headerName);
            return sent.size() == 1 && isOneOf(known, digest(sent.get(0)));
        };
    }

    /** Printable ASCII, because no server agrees with every client on how other characters travel in a header. */
    private static byte[] checked(String secret) {
        if (secret.length() < MIN_SECRET_CHARS) {
            throw new IllegalArgumentException(
                    "a secret must have at least " + MIN_SECRET_CHARS + " characters, one has " + secret.length());
        }
        if (!secret.matches("[!-~]+")) {
            throw new IllegalArgumentException("a secret must be printable ASCII without blanks");
        }
        return digest(secret);
    }

    /** Compares with all of them, so that which one it was does not show. */
    private static boolean isOneOf(List<byte[]> known, byte[] sent) {
        boolean found = false;
        for (byte[] secret : known) {
            found |= MessageDigest.isEqual(secret, sent);
        }
        return found;
    }

    /** Makes all of one length: the comparison does not tell that of the secret. */
    private static byte[] digest(String secret) {
        return KeyText.sha256().digest(secret.getBytes(StandardCharsets.UTF_8));
    }
}
