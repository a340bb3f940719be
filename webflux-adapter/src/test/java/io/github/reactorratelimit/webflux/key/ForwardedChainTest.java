package io.github.reactorratelimit.webflux.key;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ForwardedChainTest {

    /** What is read before something that is no address, at most ten. */
    private static List<String> read(ForwardedChain hops) {
        List<String> addresses = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            IpAddress next = hops.next();
            if (next == null) {
                break;
            }
            addresses.add(next.toString());
        }
        return addresses;
    }

    private static List<String> xForwardedFor(String... lines) {
        return read(new XForwardedFor(List.of(lines)));
    }

    private static List<String> forwarded(String... lines) {
        return read(new Forwarded(List.of(lines)));
    }

    @ParameterizedTest
    @CsvSource({
        "192.0.2.1, 192.0.2.1",
        "192.0.2.1:8080, 192.0.2.1",
        "192.0.2.1:_port, 192.0.2.1",
        "192.0.2.1:65535, 192.0.2.1",
        "2001:DB8::1, 2001:db8::1",
        "[2001:db8::1], 2001:db8::1",
        "[2001:db8::1]:443, 2001:db8::1",
        "[fe80::1%25eth0]:443, fe80::1",
        "::ffff:192.0.2.1, 192.0.2.1",
        "[::ffff:192.0.2.1]:1, 192.0.2.1"
    })
    void nodeIsAnAddressWithOrWithoutPort(String node, String address) {
        assertThat(NodeAddressParser.parse(node)).hasToString(address);
        assertThat(xForwardedFor(node)).containsExactly(address);
        assertThat(forwarded("for=\"" + node + "\"")).containsExactly(address);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "unknown",
                "_hidden",
                "_SEVKISEK",
                "-",
                "localhost",
                "192.0.2.1:",
                "192.0.2.1:x",
                "192.0.2.1:65536",
                "192.0.2.1:123456",
                "192.0.2.1:-1",
                "192.0.2.1:_",
                "192.0.2.1:_a b",
                "192.0.2.1:８０",
                "192.0.2",
                "010.0.2.1",
                "[192.0.2.1]",
                "[192.0.2.1]:80",
                "[2001:db8::1",
                "2001:db8::1]",
                "[2001:db8::1]80",
                "[2001:db8::1]:",
                "[2001:db8::1]:http",
                "[]",
                "[",
                "[]:80",
                "[[::1]]",
                "unix:",
                "192.0.2.1 192.0.2.2",
                "http://192.0.2.1"
            })
    void everythingElseIsNoAddress(String node) {
        assertThat(NodeAddressParser.parse(node)).isNull();
        assertThat(xForwardedFor("192.0.2.9, " + node)).isEmpty();
        assertThat(forwarded("for=192.0.2.9, for=\"" + node + "\"")).isEmpty();
    }

    @Test
    void lastEntryIsReadFirst() {
        assertThat(xForwardedFor("192.0.2.1, 192.0.2.2 ,192.0.2.3"))
                .containsExactly("192.0.2.3", "192.0.2.2", "192.0.2.1");
        assertThat(forwarded("for=192.0.2.1, for=192.0.2.2 ,for=192.0.2.3"))
                .containsExactly("192.0.2.3", "192.0.2.2", "192.0.2.1");
    }

    @Test
    void severalLinesAreOneListInTheirOrder() {
        assertThat(xForwardedFor("192.0.2.1, 192.0.2.2", "192.0.2.3", "192.0.2.4, 192.0.2.5"))
                .containsExactly("192.0.2.5", "192.0.2.4", "192.0.2.3", "192.0.2.2", "192.0.2.1");
        assertThat(forwarded("for=192.0.2.1, for=192.0.2.2", "for=192.0.2.3"))
                .containsExactly("192.0.2.3", "192.0.2.2", "192.0.2.1");
    }

    @Test
    void noLinesHaveNoHops() {
        assertThat(xForwardedFor()).isEmpty();
        assertThat(forwarded()).isEmpty();
        assertThat(xForwardedFor("")).isEmpty();
        assertThat(forwarded(" ")).isEmpty();
    }

    @Test
    void emptyEntryEndsTheList() {
        assertThat(xForwardedFor("192.0.2.1,")).isEmpty();
        assertThat(xForwardedFor("192.0.2.1,,192.0.2.2")).containsExactly("192.0.2.2");
        assertThat(xForwardedFor("192.0.2.1", "")).isEmpty();
        assertThat(forwarded("for=192.0.2.1, ,for=192.0.2.2")).containsExactly("192.0.2.2");
        assertThat(xForwardedFor(",192.0.2.2")).containsExactly("192.0.2.2");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "for=192.0.2.1",
                "For=192.0.2.1",
                "FOR=\"192.0.2.1\"",
                "for=\"192.0.2.1:4711\"",
                "for=192.0.2.1:4711",
                "proto=https;for=192.0.2.1",
                "for=192.0.2.1;proto=https;by=203.0.113.43",
                "for=192.0.2.1; proto=https",
                "for=192.0.2.1 ;host=example.org;",
                ";for=192.0.2.1",
                "host=\"a, b\";for=192.0.2.1",
                "host=\"a; for=9.9.9.9\";for=192.0.2.1",
                "host=\"\\\"\";for=192.0.2.1",
                "host=\"\\\\\";for=192.0.2.1",
                "host=\"\\\\\\\", for=9.9.9.9\";for=192.0.2.1",
                "for=192.0.2.1;host=\", for=\\\"9.9.9.9\\\"\"",
                "for=\"192.0.2\\.1\"",
                "host=\"\";for=192.0.2.1",
                "host=;for=192.0.2.1",
                "xfor=9.9.9.9;for=192.0.2.1"
            })
    void forOfAnElementIsReadWhateverStandsBesideIt(String element) {
        assertThat(forwarded(element)).containsExactly("192.0.2.1");
        assertThat(forwarded("for=9.9.9.9, " + element)).containsExactly("192.0.2.1", "9.9.9.9");
        assertThat(forwarded(element + ", for=9.9.9.9")).containsExactly("9.9.9.9", "192.0.2.1");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "192.0.2.1",
                "for",
                "for=",
                "for =192.0.2.1",
                "for= 192.0.2.1",
                "for=\"192.0.2.1",
                "for=192.0.2.1\"",
                "for=\"192.0.2.1\\\"",
                "for=\"192.0.2.1\"x",
                "for=192.0.2.1;for=192.0.2.2",
                "for=192.0.2.1;FOR=192.0.2.1",
                "for=192.0.2.1;proto",
                "for=192.0.2.1 proto=http",
                "by=192.0.2.1",
                "proto=https",
                "for*=192.0.2.1"
            })
    void elementThatIsMalformedOrNamesNobodyEndsTheList(String element) {
        assertThat(forwarded("for=9.9.9.9, " + element)).isEmpty();
    }

    /** The proxy's entry is at the right end; what the client wrote cannot reach into it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "for=\"",
                "\"",
                "for=\"9.9.9.9",
                "for=\"9.9.9.9\\",
                "\\",
                "\\\"",
                "for=9.9.9.9;host=\"a",
                "for=9.9.9.9\",\"",
                ",,,",
                ";;;",
                "for=\"9.9.9.9, for=\"",
                ""
            })
    void whatAClientWroteCannotHideTheEntryOfTheProxy(String forged) {
        for (String entry : List.of("for=192.0.2.1", "for=\"192.0.2.1:80\";host=\"x\"")) {
            assertThat(forwarded(forged + ", " + entry)).startsWith("192.0.2.1");
            assertThat(forwarded(forged + "," + entry)).startsWith("192.0.2.1");
            assertThat(forwarded(forged, entry)).startsWith("192.0.2.1");
        }
    }

    @Test
    void entriesLongerThanAnyProxyWritesAreNotScanned() {
        String blanks = " ".repeat(1_100);
        assertThat(xForwardedFor("192.0.2.1," + blanks + "192.0.2.2")).isEmpty();
        assertThat(forwarded("for=192.0.2.1;host=\"" + blanks + "\"")).isEmpty();
        assertThat(xForwardedFor("9".repeat(1_000_000) + ",192.0.2.2")).containsExactly("192.0.2.2");
    }
}
