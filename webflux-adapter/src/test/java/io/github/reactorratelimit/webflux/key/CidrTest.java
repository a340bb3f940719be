package io.github.reactorratelimit.webflux.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.github.reactorratelimit.testing.Seeds;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CidrTest {

    @ParameterizedTest
    @CsvSource({
        "10.0.0.0/8, 10.255.1.2, true",
        "10.0.0.0/8, 11.0.0.0, false",
        "10.0.0.0/8, ::ffff:10.1.2.3, true",
        "10.0.0.1, 10.0.0.1, true",
        "10.0.0.1, 10.0.0.2, false",
        "10.0.0.1/32, 10.0.0.1, true",
        "192.168.0.0/23, 192.168.1.255, true",
        "192.168.0.0/23, 192.168.2.0, false",
        "0.0.0.0/0, 255.255.255.255, true",
        "0.0.0.0/0, ::1, false",
        "::/0, ::1, true",
        "::/0, 10.0.0.1, false",
        "::/0, ::ffff:10.0.0.1, false",
        "::ffff:10.0.0.0/104, 10.9.9.9, true",
        "::ffff:10.0.0.0/104, 11.0.0.0, false",
        "::ffff:0:0/96, 203.0.113.7, true",
        "2001:db8::/32, 2001:db8:ffff::1, true",
        "2001:db8::/32, 2001:db9::, false",
        "2001:db8:0:8000::/49, 2001:db8:0:7fff::, false",
        "fe80::/10, fe80::1%eth0, true",
        "::1, ::1, true",
        "::1/128, ::2, false"
    })
    void blockHoldsTheAddressesThatShareItsPrefix(String block, String address, boolean contains) {
        assertThat(Cidr.parse(block).contains(IpAddress.parse(address))).isEqualTo(contains);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "10.0.0.0/33 | '10.0.0.0/33' is not a CIDR block: the prefix must be 0 to 32 bits, was 33",
                "::/129 | '::/129' is not a CIDR block: the prefix must be 0 to 128 bits, was 129",
                "10.0.0.0/999 | '10.0.0.0/999' is not a CIDR block: the prefix must be 0 to 32 bits, was 999",
                "10.0.0.0/-1 | '10.0.0.0/-1' is not a CIDR block: '-1' is not a number of bits",
                "10.0.0.0/ | '10.0.0.0/' is not a CIDR block: '' is not a number of bits",
                "10.0.0.0/08 | '10.0.0.0/08' is not a CIDR block: '08' is not a number of bits",
                "10.0.0.0/8/8 | '10.0.0.0/8/8' is not a CIDR block: '8/8' is not a number of bits",
                "10.0.0.0/255.0.0.0 | '10.0.0.0/255.0.0.0' is not a CIDR block: '255.0.0.0' is not a number of bits",
                "10.0.0.0/٨ | '10.0.0.0/٨' is not a CIDR block: '٨' is not a number of bits",
                "10.0.0/24 | '10.0.0/24' is not a CIDR block: '10.0.0' is not an IP address",
                "localhost/8 | 'localhost/8' is not a CIDR block: 'localhost' is not an IP address",
                "/8 | '/8' is not a CIDR block: '' is not an IP address",
                "10.1.2.3/8 | '10.1.2.3/8' has bits set after its prefix: write 10.0.0.0/8 for the block, or 10.1.2.3/32 for the address alone",
                "2001:db8::1/32 | '2001:db8::1/32' has bits set after its prefix: write 2001:db8::/32 for the block, or 2001:db8::1/128 for the address alone"
            })
    void whatIsWrongWithABlockIsNamed(String text, String message) {
        assertThatIllegalArgumentException().isThrownBy(() -> Cidr.parse(text)).withMessage(message);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 8, 64, 80, 95})
    void mappedBlockThatReachesBeyondIpv4IsRefused(int bits) {
        assertThatIllegalArgumentException().isThrownBy(() -> Cidr.parse("::ffff:0.0.0.0/" + bits));
    }

    @Test
    void nullIsNamed() {
        assertThatNullPointerException().isThrownBy(() -> Cidr.parse(null)).withMessage("text");
    }

    @Test
    void recordIsValidByConstruction() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Cidr(IpAddress.parse("10.0.0.1"), 8))
                .withMessageContaining("10.0.0.0/8");
        assertThatIllegalArgumentException().isThrownBy(() -> new Cidr(IpAddress.parse("10.0.0.0"), -1));
    }

    @Test
    void blockOfEverythingIsToldApart() {
        assertThat(Cidr.parse("0.0.0.0/0").holdsEveryAddress()).isTrue();
        assertThat(Cidr.parse("::/0").holdsEveryAddress()).isTrue();
        assertThat(Cidr.parse("::ffff:0:0/96").holdsEveryAddress()).isTrue();
        assertThat(Cidr.parse("0.0.0.0/1").holdsEveryAddress()).isFalse();
    }

    @Test
    void containsAgreesWithArithmeticOnBigNumbers() throws UnknownHostException {
        Random random = new Random(Seeds.of("containsAgreesWithArithmeticOnBigNumbers"));
        for (int i = 0; i < 20_000; i++) {
            int bytes = random.nextBoolean() ? 4 : 16;
            int bits = random.nextInt(8 * bytes + 1);
            byte[] one = new byte[bytes];
            random.nextBytes(one);
            one[0] |= 0x20;
            byte[] other = one.clone();
            int flipped = random.nextInt(8 * bytes);
            other[flipped / 8] ^= (byte) (0x80 >>> flipped % 8);
            int host = 8 * bytes - bits;
            BigInteger network = new BigInteger(1, one).shiftRight(host);

            Cidr block = new Cidr(IpAddress.of(InetAddress.getByAddress(one)).network(bits), bits);

            assertThat(block.contains(IpAddress.of(InetAddress.getByAddress(one))))
                    .isTrue();
            assertThat(block.contains(IpAddress.of(InetAddress.getByAddress(other))))
                    .as("%s %s", block, flipped)
                    .isEqualTo(new BigInteger(1, other).shiftRight(host).equals(network));
        }
    }
}
