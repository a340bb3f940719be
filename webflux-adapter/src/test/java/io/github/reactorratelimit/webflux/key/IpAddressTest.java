package io.github.reactorratelimit.webflux.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.testing.Seeds;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IpAddressTest {

    @ParameterizedTest
    @CsvSource({
        "0.0.0.0, 0.0.0.0",
        "255.255.255.255, 255.255.255.255",
        "192.0.2.1, 192.0.2.1",
        "::, ::",
        "::1, ::1",
        "1::, 1::",
        "2001:DB8::1, 2001:db8::1",
        "2001:0db8:0000:0000:0000:0000:0000:0001, 2001:db8::1",
        "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
        "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
        "2001:0:0:1:0:0:0:1, 2001:0:0:1::1",
        "1:2:3:4:5:6:7::, 1:2:3:4:5:6:7:0",
        "::2:3:4:5:6:7:8, 0:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:8, 1:2:3:4:5:6:7:8",
        "::ffff:192.0.2.1, 192.0.2.1",
        "::FFFF:c000:201, 192.0.2.1",
        "0:0:0:0:0:ffff:192.0.2.1, 192.0.2.1",
        "::ffff:0:192.0.2.1, ::ffff:0:c000:201",
        "::192.0.2.1, ::c000:201",
        "64:ff9b::192.0.2.1, 64:ff9b::c000:201",
        "fe80::1%eth0, fe80::1",
        "fe80::1%25en.0, fe80::1",
        "::ffff:192.0.2.1%1, 192.0.2.1"
    })
    void literalHasOneCanonicalText(String literal, String canonical) {
        assertThat(IpAddress.parse(literal)).hasToString(canonical).isEqualTo(IpAddress.parse(canonical));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "1.2.3",
                "1.2.3.4.5",
                "1.2.3.",
                ".1.2.3",
                "1..2.3",
                "010.1.1.1",
                "1.1.1.08",
                "00.0.0.0",
                "256.1.1.1",
                "1.1.1.1000",
                "1.2.3.-4",
                "1.2.3.+4",
                "0x7f.1",
                "0x7f.0.0.1",
                "2130706433",
                "127.1",
                "1.2.3.4 ",
                " 1.2.3.4",
                "1.2.3.4%eth0",
                "1.2.3.4/32",
                "1.2.3.4:80",
                "١.٢.٣.٤",
                "１.1.1.1",
                ":",
                ":::",
                "::1::",
                "1::2::3",
                ":1",
                "1:",
                ":1::2",
                "1::2:",
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "1:2:3:4:5:6:7:8::",
                "::1:2:3:4:5:6:7:8",
                "1:2:3:4::5:6:7:8",
                "12345::",
                "g::",
                "-1::",
                "::1.2.3",
                "::1.2.3.256",
                "::01.2.3.4",
                "1.2.3.4::",
                "::1.2.3.4:5",
                "1:2:3:4:5:6:7:1.2.3.4",
                "[::1]",
                "::1%",
                "%eth0",
                "::%eth 0",
                "::1 ",
                "fe80::1%a::b",
                "１::",
                "localhost",
                "unknown",
                "example.org",
                "\u0000",
                "1.2.3.4\u0000"
            })
    void everythingElseIsRefused(String text) {
        assertThat(IpAddress.tryParse(text)).isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> IpAddress.parse(text))
                .withMessage("'" + text + "' is not an IP address");
    }

    @Test
    void zonesThatAreTooLongAreRefused() {
        assertThat(IpAddress.tryParse("fe80::1%" + "z".repeat(64))).isPresent();
        assertThat(IpAddress.tryParse("fe80::1%" + "z".repeat(65))).isEmpty();
    }

    /** Half of the groups are zero, so that there are runs of all lengths. */
    private static byte[] randomAddress(Random random) {
        byte[] bytes = new byte[random.nextInt(4) == 0 ? 4 : 16];
        random.nextBytes(bytes);
        for (int i = 0; i < bytes.length; i += 2) {
            if (random.nextBoolean()) {
                bytes[i] = 0;
                bytes[i + 1] = 0;
            }
        }
        if (bytes.length == 16 && random.nextInt(8) == 0) {
            Arrays.fill(bytes, 0, 10, (byte) 0);
            bytes[10] = -1;
            bytes[11] = -1;
        }
        return bytes;
    }

    /** A text form that RFC 4291 allows: groups padded or not, in any case, one run of zeros shortened, or the end as IPv4. */
    private static String randomText(byte[] bytes, Random random) {
        if (bytes.length == 4) {
            return IntStream.range(0, 4).mapToObj(i -> "" + (bytes[i] & 0xff)).collect(Collectors.joining("."));
        }
        boolean dotted = random.nextInt(4) == 0;
        int groups = dotted ? 6 : 8;
        int gapStart = random.nextInt(groups);
        int gapEnd = gapStart;
        while (gapEnd < groups && group(bytes, gapEnd) == 0 && random.nextInt(6) > 0) {
            gapEnd++;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < groups; i++) {
            if (i == gapStart && gapEnd > gapStart) {
                text.append("::");
                i = gapEnd - 1;
                continue;
            }
            colon(text);
            String hex = String.format(random.nextBoolean() ? "%x" : "%04X", group(bytes, i));
            text.append(hex);
        }
        if (dotted) {
            colon(text);
            text.append(IntStream.range(12, 16)
                    .mapToObj(i -> "" + (bytes[i] & 0xff))
                    .collect(Collectors.joining(".")));
        }
        return text.toString();
    }

    private static void colon(StringBuilder text) {
        if (text.length() > 0 && text.charAt(text.length() - 1) != ':') {
            text.append(':');
        }
    }

    private static int group(byte[] bytes, int index) {
        return (bytes[2 * index] & 0xff) << 8 | bytes[2 * index + 1] & 0xff;
    }

    @Test
    void everyTextFormOfAnAddressIsReadAsTheJdkReadsIt() throws UnknownHostException {
        long seed = Seeds.of("everyTextFormOfAnAddressIsReadAsTheJdkReadsIt");
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = randomAddress(random);
            InetAddress expected = InetAddress.getByAddress(bytes);
            String text = randomText(bytes, random);
            assertThat(InetAddress.getByName(text)).as(text).isEqualTo(expected);
            assertThat(IpAddress.tryParse(text)).as(text).contains(IpAddress.of(expected));
            assertThat(InetAddress.getByName(IpAddress.of(expected).toString()))
                    .as(text)
                    .isEqualTo(expected);
        }
    }

    /** What the strict parser takes, the JDK takes for the same; it never takes more. */
    @Test
    void textsWithOneWrongCharacterAreRefusedOrReadAsTheJdkReadsThem() throws UnknownHostException {
        long seed = Seeds.of("textsWithOneWrongCharacterAreRefusedOrReadAsTheJdkReadsThem");
        Random random = new Random(seed);
        String chars = "0123456789abcdefABCDEF::::....";
        for (int i = 0; i < 20_000; i++) {
            StringBuilder text = new StringBuilder(randomText(randomAddress(random), random));
            text.setCharAt(random.nextInt(text.length()), chars.charAt(random.nextInt(chars.length())));
            IpAddress read = IpAddress.parseOrNull(text.toString());
            if (read != null) {
                assertThat(read).as(text.toString()).isEqualTo(IpAddress.of(InetAddress.getByName(text.toString())));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "192.0.2.255, 32, 192.0.2.255",
        "192.0.2.255, 31, 192.0.2.254",
        "192.0.2.255, 24, 192.0.2.0",
        "192.0.2.255, 1, 128.0.0.0",
        "192.0.2.255, 0, 0.0.0.0",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 128, ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 127, ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 65, ffff:ffff:ffff:ffff:8000::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 64, ffff:ffff:ffff:ffff::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 63, ffff:ffff:ffff:fffe::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 1, 8000::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 0, ::"
    })
    void networkKeepsTheFirstBits(String address, int bits, String network) {
        assertThat(IpAddress.parse(address).network(bits)).hasToString(network);
    }

    @Test
    void addressesOfTwoFamiliesAreNotEqual() {
        assertThat(IpAddress.parse("0.0.0.1")).isNotEqualTo(IpAddress.parse("::1"));
    }
}
