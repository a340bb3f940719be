package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyedHashTest {

    private static final int CELLS = 1 << 16;

    /** The published SipHash-2-4 vectors: bytes 0, 1, 2, … under the key 0, 1, …, 15; two bytes make a char. */
    @ParameterizedTest
    @CsvSource({
        "0,726fdb47dd0e0e31",
        "2,0d6c8009d9a94f5a",
        "4,cf2794e0277187b7",
        "6,cbc9466e58fee3ce",
        "8,93f5f5799a932462"
    })
    void agreesWithThePublishedVectors(int bytes, String expected) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < bytes; i += 2) {
            text.append((char) (i | (i + 1) << 8));
        }
        KeyedHash hash = new KeyedHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);
        assertThat(hash.of(text.toString())).isEqualTo(Long.parseUnsignedLong(expected, 16));
    }

    @Test
    void spreadsKeysEvenlyOverTheCells() {
        KeyedHash hash = new KeyedHash();
        int keys = 1 << 20;
        int[] hits = new int[CELLS];
        for (int i = 0; i < keys; i++) {
            hits[(int) hash.of("user-" + i) & (CELLS - 1)]++;
        }
        double mean = (double) keys / CELLS;
        double chiSquare = 0;
        for (int hit : hits) {
            chiSquare += (hit - mean) * (hit - mean) / mean;
        }
        double sigma = Math.sqrt(2.0 * CELLS);
        assertThat(chiSquare).isBetween(CELLS - 8 * sigma, CELLS + 8 * sigma);
    }

    @Test
    void keysWithOneHashCodeSpreadOverTheCells() {
        KeyedHash hash = new KeyedHash();
        Set<Integer> hashCodes = new HashSet<>();
        Set<Long> cells = new HashSet<>();
        for (int bits = 0; bits < 1 << 10; bits++) {
            StringBuilder key = new StringBuilder();
            for (int i = 0; i < 10; i++) {
                key.append((bits >> i & 1) == 0 ? "Aa" : "BB");
            }
            hashCodes.add(key.toString().hashCode());
            cells.add(hash.of(key.toString()) & (CELLS - 1));
        }
        assertThat(hashCodes).hasSize(1);
        assertThat(cells).hasSizeGreaterThan(950);
    }

    @Test
    void everyTableHasAHashOfItsOwn() {
        Set<Long> hashes = new HashSet<>();
        for (int i = 0; i < 1_000; i++) {
            hashes.add(new KeyedHash().of("victim"));
        }
        assertThat(hashes).hasSize(1_000);
    }

    @Test
    void tellsApartWhatDiffersInOneCodeUnit() {
        KeyedHash hash = new KeyedHash();
        Set<Long> hashes = new HashSet<>();
        String[] keys = {"", "\0", "\0\0", "\0\0\0\0", "?", "\ud800", "\udc00", "\ud800\udc00", "\udc00\ud800", "\ufffd"
        };
        for (String key : keys) {
            hashes.add(hash.of(key));
        }
        assertThat(hashes).hasSize(keys.length);
    }
}
