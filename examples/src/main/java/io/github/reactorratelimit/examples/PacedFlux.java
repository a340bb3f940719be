package io.github.reactorratelimit.examples;

/** Shows a paced stream on the console. */
public final class PacedFlux {

    private PacedFlux() {}

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        System.out.println("reactor-ratelimit: nothing to pace yet");
    }
}
