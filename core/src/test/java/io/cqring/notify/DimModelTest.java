package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Random windows: both algorithms against models that keep a log of moves in place of counters. */
class DimModelTest {
    /** -1, 0 or 1; the reference of 0 is the caller's business. */
    private static int compare(double now, double before) {
        double percent = Math.floor(100 * Math.abs(now - before) / before);
        return percent > 10 ? (int) Math.signum(now - before) : 0;
    }

    private static double perMs(double count, double us) {
        return Math.ceil(count * 1000 / us);
    }

    /** Moves since the last park: L and R are steps, less-than and greater-than signs are turns to the left and to the right. */
    private abstract static class Model {
        final int last;
        String log = "";
        String state;
        int index;

        Model(int last, int index, String state) {
            this.last = last;
            this.index = index;
            this.state = state;
        }

        abstract void window(double us, double completions, double bytes);

        void turn() {
            state = state.equals("GOING_LEFT") ? "GOING_RIGHT" : "GOING_LEFT";
            log += state.equals("GOING_LEFT") ? '<' : '>';
        }

        boolean step() {
            boolean left = state.equals("GOING_LEFT");
            if (index == (left ? 0 : last)) {
                return false;
            }
            index += left ? -1 : 1;
            log += left ? 'L' : 'R';
            return true;
        }

        int steps(char step, char turn) {
            return (int) log.substring(log.lastIndexOf(turn) + 1)
                    .chars()
                    .filter(c -> c == step)
                    .count();
        }
    }

    private static final class RdmaModel extends Model {
        double completionsBefore;
        double ratioBefore;

        RdmaModel() {
            super(8, 0, "GOING_RIGHT");
        }

        @Override
        void window(double us, double completions, double bytes) {
            double now = perMs(completions, us);
            double ratio = Math.floor(now * 100 / perMs(64, us));
            int trend = 0;
            if (completionsBefore != 0) {
                trend = compare(now, completionsBefore);
                if (trend == 0 && ratioBefore != 0) {
                    trend = compare(ratio, ratioBefore);
                }
            }
            if (trend == 0) {
                if (ratio / 50 <= index) {
                    index = 0;
                }
            } else {
                if (trend < 0) {
                    turn();
                }
                if (!step()) {
                    turn();
                }
            }
            completionsBefore = now;
            ratioBefore = ratio;
        }
    }

    private static final class NetModel extends Model {
        double[] before = new double[3];
        int rest;
        int moves;

        NetModel() {
            super(4, 1, "PARKING_ON_TOP");
        }

        @Override
        void window(double us, double packets, double bytes) {
            double[] now = {perMs(bytes, us), perMs(packets, us), perMs(64, us)};
            int trend = 0;
            if (before[0] == 0) {
                trend = now[0] > 0 ? 1 : 0;
            } else {
                for (int i = 0; i < 3 && trend == 0; i++) {
                    trend = before[i] == 0 ? 0 : compare(now[i], before[i]) * (i == 2 ? -1 : 1);
                }
            }
            String was = state;
            if (was.equals("PARKING_TIRED") ? --rest == 0 : was.equals("PARKING_ON_TOP") && trend != 0) {
                moves = 0;
                state = index == 0 ? "GOING_RIGHT" : "GOING_LEFT";
                step();
                moves++;
            } else if (was.startsWith("GOING")) {
                if (trend <= 0) {
                    turn();
                }
                int right = steps('R', '>');
                int left = steps('L', '<');
                if (state.equals("GOING_LEFT") ? left == 1 && right >= 2 : right == 1 && left >= 2) {
                    park("PARKING_ON_TOP");
                } else if (moves == 10) {
                    park("PARKING_TIRED");
                    rest = 10;
                } else if (step()) {
                    moves++;
                } else {
                    park("PARKING_ON_TOP");
                }
            }
            if (!(was.equals("PARKING_ON_TOP") && state.equals("PARKING_ON_TOP"))) {
                before = now;
            }
        }

        private void park(String how) {
            state = how;
            log = "";
        }
    }

    @Test
    void randomWindows() {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("DimModelTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom seeds = new SplittableRandom(seed);
        Set<TuneState> seen = EnumSet.noneOf(TuneState.class);
        for (int run = 0; run < 200; run++) {
            SplittableRandom random = seeds.split();
            boolean net = run % 2 == 0;
            Dim dim = net ? NetDim.receive(TimerMode.FROM_EVENT) : new RdmaDim();
            Model model = net ? new NetModel() : new RdmaModel();
            Windows windows = new Windows(dim, random.nextLong());
            int spread = random.nextInt(1, 60); // percent
            double rate = random.nextDouble(0.001, 100); // completions per microsecond
            for (int window = 0; window < 300; window++) {
                if (random.nextInt(50) == 0) {
                    rate = random.nextDouble(0.001, 100);
                }
                int us = random.nextInt(10) == 0 ? random.nextInt(1, 100_000) : 1000;
                double factor = 1 + (random.nextDouble() - 0.5) * spread / 50;
                int completions = random.nextInt(40) == 0 ? 0 : (int) (rate * factor * us);
                long bytes = completions * (random.nextInt(5) == 0 ? 150L : 100L);
                windows.feed(us, completions, bytes);
                model.window(us, completions, (double) bytes);
                String where = "seed " + seed + ", run " + run + ", window " + window;
                assertEquals(model.state, dim.tuneState().name(), where);
                assertEquals(model.index, dim.profileIndex(), where);
                assertEquals(model.steps('R', '>'), dim.stepsRight, where);
                assertEquals(model.steps('L', '<'), dim.stepsLeft, where);
                seen.add(dim.tuneState());
            }
        }
        assertTrue(seen.equals(EnumSet.allOf(TuneState.class)), "seed " + seed + ": states seen: " + seen);
    }
}
