package io.github.reactorratelimit.webflux.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.File;
import java.lang.reflect.Constructor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;

class ClientAddressTest {

    private static final TrustedProxies PROXIES = TrustedProxies.in("10.0.0.0/8", "fd00::/8");

    static MockServerHttpRequest.BaseBuilder<?> from(String peer) {
        try {
            return MockServerHttpRequest.get("/")
                    .remoteAddress(new InetSocketAddress(InetAddress.getByName(peer), 4711));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static ServerWebExchange xForwardedFor(String peer, String... lines) {
        return MockServerWebExchange.from(from(peer).header("X-Forwarded-For", lines));
    }

    private static String network(ClientAddress address, ServerWebExchange exchange) {
        return address.networkOf(exchange).orElse("none");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "203.0.113.7 | 1.1.1.1 | 203.0.113.7",
                "10.0.0.1 | 203.0.113.7 | 203.0.113.7",
                "10.0.0.1 | 1.1.1.1, 203.0.113.7 | 203.0.113.7",
                "10.0.0.1 | 10.9.9.9, 203.0.113.7 | 203.0.113.7",
                "10.0.0.1 | 1.1.1.1, 203.0.113.7, 10.0.0.2 | 203.0.113.7",
                "10.0.0.1 | 1.1.1.1, 203.0.113.7, fd00::1, 10.0.0.2 | 203.0.113.7",
                "10.0.0.1 | 1.1.1.1, 203.0.113.7, ::ffff:10.0.0.2 | 203.0.113.7",
                "::ffff:10.0.0.1 | 203.0.113.7 | 203.0.113.7",
                "10.0.0.1 | 10.0.0.3, 10.0.0.2 | 10.0.0.3",
                "10.0.0.1 | 203.0.113.7, unknown | 10.0.0.1",
                "10.0.0.1 | 203.0.113.7, unknown, 10.0.0.2 | 10.0.0.2",
                "10.0.0.1 | 203.0.113.7, | 10.0.0.1",
                "10.0.0.1 | 203.0.113.7:4711 | 203.0.113.7",
                "10.0.0.1 | 203.0.113.007 | 10.0.0.1",
                "10.0.0.1 | 2001:db8:1:2:3:4:5:6 | 2001:db8:1:2::/64",
                "fd00::5 | 2001:db8:1:2:3:4:5:6 | 2001:db8:1:2::/64",
                "2001:db8:1:2:3:4:5:6 | 1.1.1.1 | 2001:db8:1:2::/64"
            })
    void headerIsBelievedFromTheRightToTheFirstAddressThatIsNoProxy(String peer, String header, String client) {
        assertThat(network(ClientAddress.fromXForwardedFor(PROXIES), xForwardedFor(peer, header)))
                .isEqualTo(client);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "203.0.113.7 | for=1.1.1.1 | 203.0.113.7",
                "10.0.0.1 | for=1.1.1.1, for=203.0.113.7 | 203.0.113.7",
                "10.0.0.1 | for=\"[2001:db8:1:2::3]:80\";proto=https | 2001:db8:1:2::/64",
                "10.0.0.1 | for=203.0.113.7, for=unknown | 10.0.0.1",
                "10.0.0.1 | for=203.0.113.7, for=_secret, for=10.0.0.2 | 10.0.0.2",
                "10.0.0.1 | for=1.1.1.1, for=203.0.113.7;by=10.0.0.2, for=10.0.0.2 | 203.0.113.7"
            })
    void standardHeaderIsReadTheSameWay(String peer, String header, String client) {
        ServerWebExchange exchange = MockServerWebExchange.from(
                from(peer).header("Forwarded", header).header("X-Forwarded-For", "9.9.9.9"));
        assertThat(network(ClientAddress.fromForwarded(PROXIES), exchange)).isEqualTo(client);
    }

    @Test
    void onlyTheChosenHeaderIsRead() {
        ServerWebExchange exchange =
                MockServerWebExchange.from(from("10.0.0.1").header("Forwarded", "for=203.0.113.7"));
        assertThat(network(ClientAddress.fromXForwardedFor(PROXIES), exchange)).isEqualTo("10.0.0.1");
        assertThat(network(ClientAddress.fromForwarded(PROXIES), xForwardedFor("10.0.0.1", "203.0.113.7")))
                .isEqualTo("10.0.0.1");
        assertThat(network(ClientAddress.ofPeer(), xForwardedFor("10.0.0.1", "203.0.113.7")))
                .isEqualTo("10.0.0.1");
    }

    @Test
    void linesOfTheHeaderAreOneList() {
        assertThat(network(
                        ClientAddress.fromXForwardedFor(PROXIES),
                        xForwardedFor("10.0.0.1", "1.1.1.1", "203.0.113.7, 10.0.0.3", "10.0.0.2")))
                .isEqualTo("203.0.113.7");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1 | 1.1.1.1, 203.0.113.7 | 203.0.113.7",
                "2 | 1.1.1.1, 203.0.113.7, 198.51.100.1 | 203.0.113.7",
                "2 | 203.0.113.7 | 203.0.113.7",
                "3 | 203.0.113.7, unknown, 198.51.100.1 | 198.51.100.1",
                "32 | 203.0.113.7 | 203.0.113.7"
            })
    void aNumberOfHopsIsTrusted(int hops, String header, String client) {
        assertThat(network(
                        ClientAddress.fromXForwardedFor(TrustedProxies.hops(hops)), xForwardedFor("192.0.2.1", header)))
                .isEqualTo(client);
    }

    @Test
    void walkEndsAfterMoreProxiesThanAnyRequestPasses() {
        List<String> proxies =
                IntStream.rangeClosed(1, 200).mapToObj(i -> "10.0.1." + i).toList();
        assertThat(network(
                        ClientAddress.fromXForwardedFor(PROXIES),
                        xForwardedFor("10.0.0.1", "203.0.113.7," + String.join(",", proxies))))
                .isEqualTo("10.0.1.169");
    }

    @Test
    void addressesCountByNetwork() {
        ClientAddress address = ClientAddress.ofPeer().withIpv4Prefix(24).withIpv6Prefix(48);
        assertThat(network(address, MockServerWebExchange.from(from("203.0.113.7"))))
                .isEqualTo("203.0.113.0/24");
        assertThat(network(address, MockServerWebExchange.from(from("2001:db8:1:2::3"))))
                .isEqualTo("2001:db8:1::/48");
        assertThat(network(address.withIpv6Prefix(56), MockServerWebExchange.from(from("2001:db8:1:2ff::3"))))
                .isEqualTo("2001:db8:1:200::/56");
    }

    @Test
    void wholeAddressIsThereForOtherUses() {
        assertThat(ClientAddress.ofPeer().of(MockServerWebExchange.from(from("2001:db8:1:2::3"))))
                .contains(IpAddress.parse("2001:db8:1:2::3"));
    }

    @Test
    void connectionWithoutAddressHasNone() {
        MockServerHttpRequest.BaseBuilder<?> request =
                MockServerHttpRequest.get("/").header("X-Forwarded-For", "1.1.1.1");
        for (ClientAddress address : List.of(
                ClientAddress.ofPeer(),
                ClientAddress.reportedByServer(),
                ClientAddress.fromXForwardedFor(PROXIES),
                ClientAddress.fromXForwardedFor(TrustedProxies.hops(1)))) {
            assertThat(address.of(MockServerWebExchange.from(request))).isEmpty();
        }
    }

    @Test
    void unresolvedAddressIsNoPeerButMayBeReported() {
        ServerWebExchange exchange = MockServerWebExchange.from(
                MockServerHttpRequest.get("/").remoteAddress(InetSocketAddress.createUnresolved("203.0.113.7", 1)));
        assertThat(ClientAddress.ofPeer().of(exchange)).isEmpty();
        assertThat(ClientAddress.reportedByServer().of(exchange)).contains(IpAddress.parse("203.0.113.7"));
        ServerWebExchange named = MockServerWebExchange.from(
                MockServerHttpRequest.get("/").remoteAddress(InetSocketAddress.createUnresolved("localhost", 1)));
        assertThat(ClientAddress.reportedByServer().of(named)).isEmpty();
    }

    /** Run in a class path of its own by the test below. */
    static final class OnAnotherServer implements Callable<String> {

        @Override
        public String call() {
            return network(ClientAddress.ofPeer(), xForwardedFor("203.0.113.7", "1.1.1.1"));
        }
    }

    @Test
    void peerIsFoundWithoutReactorNettyOnTheClassPath() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!entry.contains("reactor-netty")) {
                urls.add(Path.of(entry).toUri().toURL());
            }
        }
        try (URLClassLoader loader =
                new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            assertThatExceptionOfType(ClassNotFoundException.class)
                    .isThrownBy(() -> loader.loadClass("reactor.netty.http.server.HttpServerRequest"));
            Constructor<?> constructor =
                    loader.loadClass(OnAnotherServer.class.getName()).getDeclaredConstructor();
            constructor.setAccessible(true);
            assertThat(((Callable<?>) constructor.newInstance()).call()).isEqualTo("203.0.113.7");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 15, 65, 128})
    void ipv6PrefixThatLetsClientsChooseIsRefused(int bits) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ClientAddress.ofPeer().withIpv6Prefix(bits))
                .withMessage("IPv6 prefix must be 16 to 64 bits, was " + bits);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 7, 33})
    void ipv4PrefixOutOfRangeIsRefused(int bits) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ClientAddress.ofPeer().withIpv4Prefix(bits))
                .withMessage("IPv4 prefix must be 8 to 32 bits, was " + bits);
    }

    @Test
    void badProxiesAreRefusedAndTrustInEveryoneIsTold() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TrustedProxies.in("10.0.0.0/33"))
                .withMessageContaining("10.0.0.0/33");
        assertThatIllegalArgumentException().isThrownBy(() -> TrustedProxies.in(Collections.emptyList()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TrustedProxies.hops(0))
                .withMessage("count must be 1 to 32, was 0");
        assertThatIllegalArgumentException().isThrownBy(() -> TrustedProxies.hops(33));
        assertThat(TrustedProxies.in("10.0.0.0/8", "0.0.0.0/0").trustEveryone()).isTrue();
        assertThat(PROXIES.trustEveryone()).isFalse();
        assertThat(ClientAddress.fromXForwardedFor(PROXIES))
                .hasToString("ClientAddress(X_FORWARDED_FOR of proxies in [10.0.0.0/8, fd00::/8], IPv4 /32, IPv6 /64)");
    }
}
