package io.github.reactorratelimit.webflux.key;

import static io.github.reactorratelimit.webflux.key.ClientAddressTest.from;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;

/** Whatever a client writes into the headers that proxies write, it counts for its own address. */
class ForgedHeadersTest {

    private static final int HEADERS = 10_000;
    private static final int HEADERS_TO_A_SERVER = 300;

    private static final List<String> PIECES = List.of(
            "for=",
            "For=",
            "for",
            "by=",
            "host=",
            "proto=http",
            "=",
            "\"",
            "\"",
            "\\",
            "\\\"",
            ",",
            ",",
            ";",
            " ",
            "\t",
            "[",
            "]",
            ":",
            "::",
            "%",
            "%eth0",
            "unknown",
            "_hidden",
            "1.1.1.1",
            "10.0.0.1",
            "10.0.0.2",
            "127.0.0.1",
            "203.0.113.7",
            "198.51.100.99",
            "2001:db8::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "[2001:db8::1]:80",
            "010.1.1.1",
            "0",
            "9",
            ":80",
            "a",
            "é",
            "\u00a0",
            "for=10.0.0.1",
            "for=\"[fd00::1]\"",
            "for=1.1.1.1");

    private static final TrustedProxies NETWORKS = TrustedProxies.in("10.0.0.0/8", "fd00::/8", "127.0.0.0/8");

    private final WebKey xForwardedFor = WebKeys.clientAddress(ClientAddress.fromXForwardedFor(NETWORKS));
    private final WebKey forwarded = WebKeys.clientAddress(ClientAddress.fromForwarded(NETWORKS));

    private static String forged(Random random) {
        StringBuilder header = new StringBuilder();
        int pieces = random.nextInt(30);
        for (int i = 0; i < pieces; i++) {
            header.append(PIECES.get(random.nextInt(PIECES.size())));
        }
        return header.toString();
    }

    private static String key(WebKey key, ServerWebExchange exchange) {
        return key.resolve(exchange).block();
    }

    @Test
    void clientThatIsNoProxyCountsForItsPeer() {
        Random random = new Random(Seeds.of("clientThatIsNoProxyCountsForItsPeer"));
        for (int i = 0; i < HEADERS; i++) {
            String one = forged(random);
            String other = forged(random);
            ServerWebExchange exchange = MockServerWebExchange.from(
                    from("198.51.100.99").header("X-Forwarded-For", one, other).header("Forwarded", other, one));
            for (WebKey key : List.of(xForwardedFor, forwarded, WebKeys.clientAddress())) {
                assertThat(key(key, exchange)).as("%s | %s", one, other).isEqualTo("ip:198.51.100.99");
            }
        }
    }

    /** Proxies append to the last line, or add one; there are one or two of them. */
    @Test
    void clientBehindProxiesCountsForTheAddressThatTheFirstOneSaw() {
        Random random = new Random(Seeds.of("clientBehindProxiesCountsForTheAddressThatTheFirstOneSaw"));
        for (int i = 0; i < HEADERS; i++) {
            String forged = forged(random);
            boolean two = random.nextBoolean();
            boolean appends = random.nextBoolean();
            String address = two ? "198.51.100.99, 10.0.0.9" : "198.51.100.99";
            String element = (random.nextBoolean() ? "for=198.51.100.99" : "for=\"198.51.100.99:1\";host=\"x\\\",y\"")
                    + (two ? ", for=\"[fd00::9]\"" : "");
            ServerWebExchange exchange = MockServerWebExchange.from(from("10.0.0.1")
                    .header("X-Forwarded-For", lines(forged, appends, address))
                    .header("Forwarded", lines(forged, appends, element)));
            assertThat(key(xForwardedFor, exchange)).as(forged).isEqualTo("ip:198.51.100.99");
            assertThat(key(forwarded, exchange)).as(forged).isEqualTo("ip:198.51.100.99");
        }
    }

    private static String[] lines(String forged, boolean appends, String written) {
        return appends ? new String[] {forged + ", " + written} : new String[] {forged, written};
    }

    @Test
    void serverFindsTheClientWhateverItSent() throws IOException {
        Random random = new Random(Seeds.of("serverFindsTheClientWhateverItSent"));
        int passed = 0;
        try (LimitedServer server = new LimitedServer(xForwardedFor)) {
            for (int i = 0; i < HEADERS_TO_A_SERVER; i++) {
                int status = server.send("GET / HTTP/1.1\r\nX-Forwarded-For: " + forged(random)
                                + ", 198.51.100.99\r\nForwarded: " + forged(random))
                        .status();
                assertThat(status).isIn(200, 429);
                passed += status == 200 ? 1 : 0;
            }
        }
        assertThat(passed).isEqualTo(LimitedServer.LIMIT);
    }
}
