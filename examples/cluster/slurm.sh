#!/bin/bash
# Trains on several nodes under Slurm, with one process per GPU:
#
#     sbatch examples/cluster/slurm.sh --data mails.tsv --epochs 20
#     sbatch --nodes=1 --ntasks-per-node=2 --gpus-per-task=0 --cpus-per-task=1 examples/cluster/slurm.sh
#
# The Python script reads the cluster from srun's variables. When a process dies, the others stop within about a minute,
# srun ends the step, and the loop below restarts all of them; the training resumes. A job with another number of
# processes resumes it, too, if it is given the folder of the first job: slurm.sh --output runs/keras-slstm-41.
#SBATCH --job-name=keras-slstm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue

set -uo pipefail
export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"
export PYTHONUNBUFFERED=1

for attempt in 1 2 3 4 5; do
    # --label prefixes each line with the number of its process. --kill-on-bad-exit=1 would end the others before they
    # can report what they waited for.
    srun --distribution=block --cpus-per-task="$SLURM_CPUS_PER_TASK" --label --kill-on-bad-exit=0 --wait=120 \
        python examples/train_distributed.py --save-every 200 \
        --output "$SLURM_SUBMIT_DIR/runs/$SLURM_JOB_NAME-$SLURM_JOB_ID" "$@" && exit 0
    echo "Attempt $attempt failed." >&2
done
exit 1
